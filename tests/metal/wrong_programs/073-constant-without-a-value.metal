// 2:16: default initialization of an object of const type 'constant float'
constant float scale;
kernel void k(device float* out) { out[0] = scale; }
