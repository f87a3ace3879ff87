static float group_max(float value, local float* shared) {
  const uint t = get_local_id(0);
  shared[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {
    if (t < step) shared[t] = fmax(shared[t], shared[t + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float highest = shared[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return highest;
}

kernel void softmax(global const float* x, global float* out, uint columns) {
  local float shared[256];
  const uint t = get_local_id(0), threads = get_local_size(0);
  x += get_group_id(0) * columns;
  out += get_group_id(0) * columns;
  float m = -INFINITY;
  for (uint c = t; c < columns; c += threads) m = fmax(m, x[c]);
  m = group_max(m, shared);
  float sum = 0;
  for (uint c = t; c < columns; c += threads) {
    const float e = exp(x[c] - m);
    out[c] = e;
    sum += e;
  }
  const float scale = 1 / group_sum(sum, shared);
  for (uint c = t; c < columns; c += threads) out[c] *= scale;
}
