// 3:3: assembly is not supported in Metal
kernel void k(device float* out) {
  asm("nop");
}
