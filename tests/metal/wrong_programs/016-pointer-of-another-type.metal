// 3:15: cannot initialize a variable of type 'device int *' with an lvalue of type 'device float *'
kernel void k(device float* out) {
  device int* p = out;
  *p = 1;
}
