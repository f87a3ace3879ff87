#include <metal_stdlib>
using namespace metal;

constant constexpr uint kKeys = 1024;

// A threadgroup sorts 1,024 keys, two a thread, in threadgroup memory.
kernel void bitonic_sort(device const uint* x, device uint* out, uint group [[threadgroup_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint keys[kKeys];
  x += group * kKeys;
  out += group * kKeys;
  keys[t] = x[t];
  keys[t + kKeys / 2] = x[t + kKeys / 2];
  for (uint size = 2; size <= kKeys; size *= 2) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      const uint low = 2 * t - (t & (stride - 1)), high = low + stride;
      const uint a = keys[low], b = keys[high];
      const bool rising = (low & size) == 0;
      keys[low] = rising ? min(a, b) : max(a, b);
      keys[high] = rising ? max(a, b) : min(a, b);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = keys[t];
  out[t + kKeys / 2] = keys[t + kKeys / 2];
}
