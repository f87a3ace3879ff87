// 2:14: function constant 'n' cannot have an initialiser
constant int n [[function_constant(0)]] = 5;
kernel void k(device float* out) { out[0] = n; }
