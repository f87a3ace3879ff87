// 3:3: 'double' is not supported in Metal
kernel void k(device float* out) {
  double x = 1.0;
  out[0] = x;
}
