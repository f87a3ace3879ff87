// 4:12: cannot assign to variable 'table' with const-qualified type 'constant float[3]'
constant float table[3] = {1, 2, 3};
kernel void k(device float* out) {
  table[1] = out[0];
}
