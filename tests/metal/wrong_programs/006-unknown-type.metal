// 2:22: unknown type name 'flaot'
kernel void k(device flaot* out) {
  out[0] = 1;
}
