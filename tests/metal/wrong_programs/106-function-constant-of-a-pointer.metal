// 2:10: multiple address spaces specified for type
constant device float* p [[function_constant(0)]];
kernel void k(device float* out) { out[0] = 1; }
