// 3:3: unterminated /* comment
kernel void k(device float* out) {
  /* never closed
  out[0] = 1;
}
