// 2:24: kernel function 'k' cannot be a member of a class
struct S { kernel void k(device float* out) { out[0] = 1; } };
