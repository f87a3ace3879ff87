// 4:18: cannot convert 'device float *' to 'thread float *': the address spaces differ
float first(thread float* p) { return *p; }
kernel void k(device float* out) {
  out[0] = first(out);
}
