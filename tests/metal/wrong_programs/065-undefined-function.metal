// 4:12: undefined symbol: function 'outside' has no definition
float outside(float x);
kernel void k(device float* out) {
  out[0] = outside(out[1]);
}
