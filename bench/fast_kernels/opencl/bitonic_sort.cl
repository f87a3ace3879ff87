#define KEYS 1024

kernel void bitonic_sort(global const uint* x, global uint* out) {
  local uint keys[KEYS];
  const uint t = get_local_id(0);
  x += get_group_id(0) * KEYS;
  out += get_group_id(0) * KEYS;
  keys[t] = x[t];
  keys[t + KEYS / 2] = x[t + KEYS / 2];
  for (uint size = 2; size <= KEYS; size *= 2) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint low = 2 * t - (t & (stride - 1)), high = low + stride;
      const uint a = keys[low], b = keys[high];
      const bool rising = (low & size) == 0;
      keys[low] = rising ? min(a, b) : max(a, b);
      keys[high] = rising ? max(a, b) : min(a, b);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = keys[t];
  out[t + KEYS / 2] = keys[t + KEYS / 2];
}
