// 3:9: read-only variable is not assignable
kernel void k(const device float* in) {
  in[0] = 1;
}
