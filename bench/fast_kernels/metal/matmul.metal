#include <metal_stdlib>
using namespace metal;

// 64 x 64 of the result a threadgroup of 16 x 16, 4 x 4 a thread; slices of both operands in threadgroup memory.
constant constexpr uint kTile = 64, kDepth = 16, kEach = 4, kSide = kTile / kEach;

kernel void matmul(device const float* a, device const float* b, device float* out, constant uint& size,
                   uint2 group [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]],
                   uint index [[thread_index_in_threadgroup]]) {
  threadgroup float left[kDepth][kTile];  // transposed, so that a thread's four are neighbours
  threadgroup float right[kDepth][kTile];
  const uint row = group.y * kTile, column = group.x * kTile;
  float4 sums[kEach] = {0, 0, 0, 0};
  for (uint k = 0; k < size; k += kDepth) {
    for (uint e = index; e < kTile * kDepth; e += kSide * kSide) {
      left[e % kDepth][e / kDepth] = a[(row + e / kDepth) * size + k + e % kDepth];
      right[e / kTile][e % kTile] = b[(k + e / kTile) * size + column + e % kTile];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 0; d < kDepth; ++d) {
      const float4 l = *(threadgroup const float4*)&left[d][t.y * kEach];
      const float4 r = *(threadgroup const float4*)&right[d][t.x * kEach];
      for (uint e = 0; e < kEach; ++e) sums[e] += l[e] * r;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint e = 0; e < kEach; ++e)
    *(device float4*)&out[(row + t.y * kEach + e) * size + column + t.x * kEach] = sums[e];
}
