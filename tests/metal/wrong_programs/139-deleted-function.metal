// 3:45: call to deleted function 'f'
float f(float) = delete;
kernel void k(device float* out) { out[0] = f(1); }
