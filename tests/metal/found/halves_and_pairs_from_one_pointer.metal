// values 4, grid 64x1 group 64x1
// in_h[i] and the second half of pair i were taken for neighbours: both have index i.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float* out_f [[buffer(1)]], device const uint* in_u [[buffer(9)]],
              device const half* in_h [[buffer(14)]], constant uint& c_stride [[buffer(22)]],
              uint lane [[thread_index_in_simdgroup]], uint tid [[thread_position_in_grid]]) {
  half2 pair = ((device const half2*)in_h)[lane + c_stride];
  half one = in_h[lane + c_stride];
  half2 turned = simd_shuffle_rotate_up(pair, ushort(1));
  turned.x = one;
  if (in_u[tid] % 6u == 2u) turned.x = pair.y;
  out_f[tid * 4u + 1u] = float(turned.x);
}
