// 2:22: pointer type must have explicit address space qualifier: parameter 'out'
kernel void k(float& out) {
  out = 1;
}
