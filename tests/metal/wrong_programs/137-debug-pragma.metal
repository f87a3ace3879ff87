// 3:45: use of undeclared identifier 'wrong'
#pragma clang __debug crash
kernel void k(device float* out) { out[0] = wrong; }
