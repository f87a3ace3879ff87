// 4:17: cannot initialize a variable of type 'device float *' with an rvalue of type 'float *'
kernel void k(device float* out) {
  float x = 1;
  device float* p = &x;
  out[0] = *p;
}
