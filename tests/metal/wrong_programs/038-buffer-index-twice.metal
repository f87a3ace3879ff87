// 2:62: cannot reserve 'buffer' resource locations at index 0
kernel void k(device float* out [[buffer(0)]], device float* in [[buffer(0)]]) {
  out[0] = in[0];
}
