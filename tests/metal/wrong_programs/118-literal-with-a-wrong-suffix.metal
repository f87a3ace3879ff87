// 3:15: invalid suffix 'd' on floating constant
kernel void k(device float* out) {
  out[0] = 1.0d;
}
