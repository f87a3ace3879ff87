// 3:3: use of undeclared identifier 'printf'
kernel void k(device float* out) {
  printf("%f", out[0]);
}
