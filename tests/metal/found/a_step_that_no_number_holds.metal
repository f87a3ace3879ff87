// values 3, grid 64x1 group 32x1
// From lane to lane the product grows by so much that 26 of these steps are more than 63 bits hold.
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out_u [[buffer(0)]], uint tid [[thread_position_in_grid]]) {
  ulong far = ulong(tid) * 360287970189639680ul;
  out_u[tid * 4u] = uint(far >> 32) ^ uint(far);
  out_u[tid * 4u + 3u] = uint((far << 3) / 7ul);
}
