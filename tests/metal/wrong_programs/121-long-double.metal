// 3:8: 'double' is not supported in Metal
kernel void k(device float* out) {
  long double x = 1;
  out[0] = x;
}
