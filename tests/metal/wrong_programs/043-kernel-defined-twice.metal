// 3:13: redefinition of 'k'
kernel void k(device float* out) { out[0] = 1; }
kernel void k(device float* out) { out[0] = 2; }
