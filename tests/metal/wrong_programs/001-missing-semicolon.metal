// 3:15: expected ';' after expression
kernel void k(device float* out) {
  out[0] = 1.0
  out[1] = 2.0;
}
