// 4:8: cannot convert 'device float &' to 'thread float &': the address spaces differ
void bump(thread float& x) { x += 1; }
kernel void k(device float* out) {
  bump(out[0]);
}
