// 3:27: cannot convert 'constant float *' to 'const device float *': the address spaces differ
kernel void k(device float* out, constant float* in) {
  device const float* p = in;
  out[0] = *p;
}
