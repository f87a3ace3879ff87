// 4:3: 'delete' is not supported in Metal
kernel void k(device float* out) {
  float x;
  delete &x;
}
