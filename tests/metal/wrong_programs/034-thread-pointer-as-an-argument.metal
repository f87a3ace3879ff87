// 2:29: pointer type must have explicit address space qualifier: parameter 'out'
kernel void k(thread float* out) {
  out[0] = 1;
}
