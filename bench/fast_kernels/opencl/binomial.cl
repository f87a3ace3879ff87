#define LEAVES 256

kernel void binomial(global const float* price, global const float* strike, global float* out, float up,
                     float probability, float discount) {
  local float values[2][LEAVES];
  const uint option = get_group_id(0), t = get_local_id(0);
  const float end = price[option] * exp(up * (2 * (float)t - (LEAVES - 1)));
  values[0][t] = fmax(end - strike[option], 0.0f);
  const float rise = discount * probability, fall = discount * (1 - probability);
  uint from = 0;
  for (uint nodes = LEAVES - 1; nodes > 0; --nodes) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < nodes) values[1 - from][t] = rise * values[from][t + 1] + fall * values[from][t];
    from = 1 - from;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t == 0) out[option] = values[from][0];
}
