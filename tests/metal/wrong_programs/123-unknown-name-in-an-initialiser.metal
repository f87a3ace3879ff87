// 3:24: use of undeclared identifier 'y'
using namespace metal;
constant float x = sin(y);
kernel void k(device float* out) { out[0] = x; }
