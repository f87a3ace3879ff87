// 2:33: member 'data' cannot be in threadgroup memory
struct Tile { threadgroup float data[8]; };
kernel void k(device float* out) {
  Tile t;
  out[0] = t.data[0];
}
