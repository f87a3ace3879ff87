// 2:40: type 'float' is not valid for this attribute
kernel void k(device float* out, float i [[thread_position_in_grid]]) {
  out[0] = i;
}
