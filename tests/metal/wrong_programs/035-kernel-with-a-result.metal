// 2:14: kernel function 'k' must return void
kernel float k(device float* out) {
  return out[0];
}
