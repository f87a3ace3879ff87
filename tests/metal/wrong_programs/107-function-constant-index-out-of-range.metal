// 2:15: 'function_constant' attribute of 'flag' takes an index from 0 to 65535
constant bool flag [[function_constant(65536)]];
kernel void k(device float* out) { if (flag) out[0] = 1; }
