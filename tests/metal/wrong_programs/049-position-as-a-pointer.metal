// 2:47: type 'device uint *' is not valid for this attribute
kernel void k(device float* out, device uint* i [[thread_position_in_grid]]) {
  out[*i] = 1;
}
