// 2:22: multiple address spaces specified for type
kernel void k(device threadgroup float* out) {
  out[0] = 1;
}
