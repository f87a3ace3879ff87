// 2:7: function 'sum' with variable arguments is not supported in Metal
float sum(int count, ...) { return 0; }
kernel void k(device float* out) { out[0] = sum(1, 2); }
