// 2:38: type 'int' is not valid for this attribute
kernel void k(device float* out, int i [[thread_position_in_grid]]) {
  out[i] = 1;
}
