#include <metal_stdlib>
using namespace metal;

// A threadgroup a row.
kernel void softmax(device const float* x, device float* out, constant uint& columns,
                    uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float highest[32], sums[32];
  x += row * columns;
  out += row * columns;
  float m = -INFINITY;
  for (uint c = t; c < columns; c += threads) m = max(m, x[c]);
  m = simd_max(m);
  if (lane == 0) highest[simdgroup] = m;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  m = simd_max(lane < simdgroups ? highest[lane] : -INFINITY);
  float sum = 0;
  for (uint c = t; c < columns; c += threads) {
    const float e = exp(x[c] - m);
    out[c] = e;
    sum += e;
  }
  sum = simd_sum(sum);
  if (lane == 0) sums[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float scale = 1 / simd_sum(lane < simdgroups ? sums[lane] : 0);
  for (uint c = t; c < columns; c += threads) out[c] *= scale;
}
