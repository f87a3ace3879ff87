// 3:9: read-only variable is not assignable
kernel void k(device float* out, constant float* in) {
  in[0] = 1;
}
