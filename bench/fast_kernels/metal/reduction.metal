#include <metal_stdlib>
using namespace metal;

// Each threadgroup sums its share; a launch of one threadgroup then sums the sums.
kernel void reduction(device const float4* x, device float* sums, constant uint& quads,
                      uint i [[thread_position_in_grid]], uint grid [[threads_per_grid]],
                      uint group [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float shared[32];
  float4 part = 0;
  for (uint c = i; c < quads; c += grid) part += x[c];
  float sum = simd_sum(part.x + part.y + part.z + part.w);
  if (lane == 0) shared[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum = simd_sum(lane < simdgroups ? shared[lane] : 0);
  if (t == 0) sums[group] = sum;
}
