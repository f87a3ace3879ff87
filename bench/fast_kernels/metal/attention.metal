#include <metal_stdlib>
using namespace metal;

constant constexpr uint kWidth = 64, kSimdgroups = 8;  // two elements of a head a lane

// One query: a threadgroup a head, whose simdgroups take every eighth key; the sums are rescaled as the maximum grows.
kernel void attention(device const float2* q, device const float2* k, device const float2* v, device float* out,
                      constant uint& keys, constant float& scale, uint head [[threadgroup_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float highest[kSimdgroups], weights[kSimdgroups];
  threadgroup float2 parts[kSimdgroups][32];
  const float2 query = q[head * 32 + lane] * scale;
  k += head * keys * 32;
  v += head * keys * 32;
  float m = -INFINITY, weight = 0;
  float2 sum = 0;
  for (uint key = simdgroup; key < keys; key += kSimdgroups) {
    const float score = simd_sum(dot(query, k[key * 32 + lane]));
    const float before = m;
    m = max(m, score);
    const float shrink = exp(before - m), e = exp(score - m);
    weight = weight * shrink + e;
    sum = sum * shrink + e * v[key * 32 + lane];
  }
  parts[simdgroup][lane] = sum;
  if (lane == 0) {
    highest[simdgroup] = m;
    weights[simdgroup] = weight;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t >= kWidth) return;
  float top = -INFINITY, total = 0, result = 0;
  for (uint s = 0; s < kSimdgroups; ++s) top = max(top, highest[s]);
  for (uint s = 0; s < kSimdgroups; ++s) {
    const float e = exp(highest[s] - top);
    total += weights[s] * e;
    result += parts[s][t / 2][t % 2] * e;
  }
  out[head * kWidth + t] = result / total;
}
