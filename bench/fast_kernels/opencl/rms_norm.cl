// Sums over each 32 items of a work-group, as simd_sum has them.
static float lane_sum(float value, local float* shared) {
  const uint t = get_local_id(0), lane = t % 32;
  shared[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 16; step > 0; step /= 2) {
    if (lane < step) shared[t] += shared[t + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return shared[t - lane];
}

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
