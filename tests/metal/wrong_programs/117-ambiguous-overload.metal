// 4:45: call to 'f' is ambiguous
float f(int x, float y) { return 1; }
float f(float x, int y) { return 2; }
kernel void k(device float* out) { out[0] = f(1, 1); }
