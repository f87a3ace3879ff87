// 2:29: 'buffer' attribute parameter is out of bounds: must be between 0 and 30
kernel void k(device float* out [[buffer(31)]]) {
  out[0] = 1;
}
