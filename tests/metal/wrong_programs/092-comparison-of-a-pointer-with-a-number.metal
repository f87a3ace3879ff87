// 3:11: invalid operands to binary expression ('device float *' and 'float')
kernel void k(device float* out) {
  if (out > 3.0) out[0] = 1;
}
