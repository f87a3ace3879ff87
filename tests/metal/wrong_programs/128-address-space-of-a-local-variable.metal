// 3:16: automatic variable qualified with an address space
kernel void k(device float* out) {
  device float x = 1;
  out[0] = x;
}
