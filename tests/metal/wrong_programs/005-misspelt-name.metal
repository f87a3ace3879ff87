// 4:12: use of undeclared identifier 'wieght'; did you mean 'weight'?
kernel void k(device float* out) {
  float weight = 1;
  out[0] = wieght;
}
