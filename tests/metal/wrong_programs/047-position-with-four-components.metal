// 2:40: type 'uint4' is not valid for this attribute
kernel void k(device float* out, uint4 i [[thread_position_in_grid]]) {
  out[i.x] = 1;
}
