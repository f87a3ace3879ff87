#include <metal_stdlib>
using namespace metal;

// Compressed rows, a simdgroup a row.
kernel void spmv(device const uint* starts, device const uint* columns, device const float* values,
                 device const float* x, device float* out, uint group [[threadgroup_position_in_grid]],
                 uint simdgroups [[simdgroups_per_threadgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const uint row = group * simdgroups + simdgroup;
  float sum = 0;
  for (uint i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
  sum = simd_sum(sum);
  if (lane == 0) out[row] = sum;
}
