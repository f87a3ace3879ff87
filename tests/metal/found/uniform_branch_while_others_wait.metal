// values 3, grid 128x1 group 128x1
// Lanes that come to the second half of the "or" take its branch together, past 1 - x; the lanes that wait before 1 + x
// made the block of 1 - x run for them nevertheless.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float* out_f [[buffer(1)]], device short* out_s [[buffer(3)]],
              device const uint* in_u [[buffer(9)]], device const float* in_f [[buffer(11)]],
              constant int& c_i [[buffer(19)]], uint lid [[thread_index_in_threadgroup]],
              uint count [[threads_per_threadgroup]], uint tid [[thread_position_in_grid]]) {
  const float x = in_f[tid * 2u + 116u];
  const bool some = lid <= in_u[1];
  const float y = x * max(1.0f, (some || 708815082 > c_i) ? 1.0f + in_f[8] : 1.0f - x);
  const short one = simd_broadcast_first(short(1));
  if (some || count % 8u == 6u) out_s[tid * 2u + 1u] = one;
  out_f[tid * 4u + 1u] = y;
}
