#include <metal_stdlib>
using namespace metal;

// A simdgroup a row: no barrier.
kernel void rms_norm(device const float4* x, device const float4* weight, device float4* out, constant uint& columns,
                     constant float& epsilon, uint group [[threadgroup_position_in_grid]],
                     uint simdgroups [[simdgroups_per_threadgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const uint quads = columns / 4, row = group * simdgroups + simdgroup;
  x += row * quads;
  out += row * quads;
  float sum = 0;
  for (uint c = lane; c < quads; c += 32) sum += dot(x[c], x[c]);
  const float scale = rsqrt(simd_sum(sum) / columns + epsilon);
  for (uint c = lane; c < quads; c += 32) out[c] = x[c] * scale * weight[c];
}
