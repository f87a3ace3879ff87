// The sum over a work-group, for every item of it.
static float group_sum(float value, local float* shared) {
  const uint t = get_local_id(0);
  shared[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {
    if (t < step) shared[t] += shared[t + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float sum = shared[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

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
