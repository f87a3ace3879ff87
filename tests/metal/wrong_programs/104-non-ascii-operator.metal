// 3:19: unexpected character <U+00D7>
kernel void k(device float* out) {
  out[0] = out[1] × 2;
}
