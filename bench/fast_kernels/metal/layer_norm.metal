#include <metal_stdlib>
using namespace metal;

static float group_sum(float value, threadgroup float* shared, uint lane, uint simdgroup, uint simdgroups) {
  value = simd_sum(value);
  if (lane == 0) shared[simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_sum(lane < simdgroups ? shared[lane] : 0);
}

// A threadgroup a row, four elements a thread, which stay in registers.
kernel void layer_norm(device const float4* x, device const float4* weight, device const float4* bias,
                       device float4* out, constant float& epsilon, uint i [[thread_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                       uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float sums[32], squares[32];
  const float scale = 1.0f / (4 * threads);
  const float4 v = x[i];
  const float mean = group_sum(v.x + v.y + v.z + v.w, sums, lane, simdgroup, simdgroups) * scale;
  const float4 d = v - mean;
  const float variance = group_sum(dot(d, d), squares, lane, simdgroup, simdgroups) * scale;
  out[i] = d * rsqrt(variance + epsilon) * weight[t] + bias[t];
}
