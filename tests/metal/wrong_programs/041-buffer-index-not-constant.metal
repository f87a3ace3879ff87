// 3:42: the argument of the attribute has to be a constant expression
int which();
kernel void k(device float* out [[buffer(which())]]) {
  out[0] = 1;
}
