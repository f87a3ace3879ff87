// 2:20: non-void function 'f' should return a value
float f(float x) { return; }
kernel void k(device float* out) { out[0] = f(1); }
