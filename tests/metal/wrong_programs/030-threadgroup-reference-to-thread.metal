// 5:8: cannot convert 'threadgroup float &' to 'thread float &': the address spaces differ
void bump(thread float& x) { x += 1; }
kernel void k(device float* out) {
  threadgroup float tile[4];
  bump(tile[0]);
  out[0] = tile[0];
}
