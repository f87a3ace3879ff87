// 4:22: unexpected character <U+201C>
kernel void k(device float* out) {
  // “quotes” in a comment are fine
  constant char* s = “text”;
}
