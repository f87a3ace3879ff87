// 3:21: variable length array declaration cannot have 'static' storage duration
kernel void k(device float* out, constant uint& n) {
  threadgroup float x[n];
  out[0] = x[0];
}
