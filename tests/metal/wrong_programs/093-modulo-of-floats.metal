// 3:19: invalid operands to binary expression ('device float' and 'float')
kernel void k(device float* out) {
  out[0] = out[1] % 2.0;
}
