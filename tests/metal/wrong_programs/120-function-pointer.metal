// 4:13: kernel 'k': it calls a function by a pointer, which Metal's kernels cannot
float plus(float x) { return x + 1; }
float minus_one(float x) { return x - 1; }
kernel void k(device float* out) {
  float (*f)(float) = out[0] > 0 ? plus : minus_one;
  out[0] = f(out[1]);
}
