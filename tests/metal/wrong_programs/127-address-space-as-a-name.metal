// 3:16: expected unqualified-id
kernel void k(device float* out) {
  float device = 1;
  out[0] = device;
}
