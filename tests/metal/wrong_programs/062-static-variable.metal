// 3:14: static variable 'calls' has to be const or in threadgroup memory
kernel void k(device int* out) {
  static int calls = 0;
  out[0] = ++calls;
}
