// 4:7: redefinition of 'x' with a different type: 'int' vs 'float'
kernel void k(device float* out) {
  float x = 1;
  int x = 2;
  out[0] = x;
}
