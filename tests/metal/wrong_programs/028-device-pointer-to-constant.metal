// 3:19: cannot initialize a variable of type 'constant float *' with an lvalue of type 'device float *'
kernel void k(device float* out) {
  constant float* p = out;
  out[0] = *p;
}
