#include <metal_stdlib>
using namespace metal;

// Blocks of 32 weights: 16 bytes of four-bit numbers, the low halves first, and a scale. A simdgroup a row.
kernel void quantised_matvec(device const uint4* weights, device const float* scales, device const float4* x,
                             device float* out, constant uint& blocks, uint group [[threadgroup_position_in_grid]],
                             uint simdgroups [[simdgroups_per_threadgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
  const uint row = group * simdgroups + simdgroup;
  weights += row * blocks;
  scales += row * blocks;
  float sum = 0;
  for (uint block = lane; block < blocks; block += 32) {
    const uint4 packed = weights[block];
    device const float4* values = x + block * 8;
    float4 part = 0;
    for (uint w = 0; w < 4; ++w) {
      const uchar4 bytes = as_type<uchar4>(packed[w]);
      part += (float4(bytes & 15) - 8) * values[w];
      part += (float4(bytes >> 4) - 8) * values[w + 4];
    }
    sum += scales[block] * (part.x + part.y + part.z + part.w);
  }
  sum = simd_sum(sum);
  if (lane == 0) out[row] = sum;
}
