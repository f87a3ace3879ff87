// 3:11: 'x' declared as an array with a negative size
kernel void k(device float* out) {
  float x[-1];
  out[0] = x[0];
}
