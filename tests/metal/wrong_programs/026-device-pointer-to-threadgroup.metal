// 3:22: cannot initialize a variable of type 'threadgroup float *' with an lvalue of type 'device float *'
kernel void k(device float* out) {
  threadgroup float* p = out;
  *p = 1;
}
