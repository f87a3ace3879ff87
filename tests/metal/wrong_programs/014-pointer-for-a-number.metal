// 3:12: assigning to 'float' from incompatible type 'device float *'; dereference with *
kernel void k(device float* out, device float* in) {
  out[0] = in;
}
