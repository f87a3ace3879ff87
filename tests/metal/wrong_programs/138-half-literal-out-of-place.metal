// 3:15: invalid suffix 'hh' on floating constant
kernel void k(device half* out) {
  out[0] = 1.0hh;
}
