// 3:3: 'try' is not supported in Metal
kernel void k(device float* out) {
  try {
    out[0] = 1;
  } catch (...) {
  }
}
