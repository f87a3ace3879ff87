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

kernel void reduction(global const float4* x, global float* sums, uint quads) {
  local float shared[256];
  float4 part = 0;
  for (uint c = get_global_id(0); c < quads; c += get_global_size(0)) part += x[c];
  const float sum = group_sum(part.x + part.y + part.z + part.w, shared);
  if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}
