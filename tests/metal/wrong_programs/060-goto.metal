// 5:19: 'goto' is not supported in Metal
kernel void k(device float* out) {
again:
  out[0] += 1;
  if (out[0] < 5) goto again;
}
