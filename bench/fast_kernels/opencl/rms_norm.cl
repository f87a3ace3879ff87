kernel void rms_norm(global const float4* x, global const float4* weight, global float4* out, uint columns,
                     float epsilon) {
  local float shared[128];
  const uint quads = columns / 4, row = get_global_id(0) / 32, lane = get_local_id(0) % 32;
  x += row * quads;
  out += row * quads;
  float sum = 0;
  for (uint c = lane; c < quads; c += 32) sum += dot(x[c], x[c]);
  const float scale = rsqrt(lane_sum(sum, shared) / columns + epsilon);
  for (uint c = lane; c < quads; c += 32) out[c] = x[c] * scale * weight[c];
}
