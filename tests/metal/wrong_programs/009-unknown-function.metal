// 3:12: use of undeclared identifier 'fused_gelu'
kernel void k(device float* out) {
  out[0] = fused_gelu(out[1]);
}
