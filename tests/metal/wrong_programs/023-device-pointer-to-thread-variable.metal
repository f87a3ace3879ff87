// 3:21: cannot convert 'device float *' to 'thread float *': the address spaces differ
kernel void k(device float* out) {
  thread float* p = out;
  p[0] = 1;
}
