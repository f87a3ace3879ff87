// 5:3: no matching function for call to 'fill'
void fill(device float* p) { *p = 1; }
kernel void k(device float* out) {
  threadgroup float tile[32];
  fill(tile);
}
