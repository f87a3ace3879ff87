// 3:12: use of undeclared identifier 'total'
kernel void k(device float* out) {
  out[0] = total;
}
