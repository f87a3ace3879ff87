// 3:21: 'new' is not supported in Metal
kernel void k(device float* out) {
  thread float* p = new float[4];
  out[0] = p[0];
}
