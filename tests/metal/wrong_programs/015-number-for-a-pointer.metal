// 3:17: cannot initialize a variable of type 'device float *' with an rvalue of type 'int'
kernel void k(device float* out) {
  device float* p = 5;
  out[0] = *p;
}
