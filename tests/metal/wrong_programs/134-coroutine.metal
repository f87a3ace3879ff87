// 3:3: use of undeclared identifier 'co_return'; did you mean 'return'?
kernel void k(device float* out) {
  co_return;
}
