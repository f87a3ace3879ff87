// 3:13: there are two kernels with the name 'k'
kernel void k(device float* out) { out[0] = 1; }
kernel void k(device int* out) { out[0] = 2; }
