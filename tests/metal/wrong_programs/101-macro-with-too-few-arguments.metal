// 4:18: too few arguments provided to function-like macro invocation
#define BOTH(a, b) (a + b)
kernel void k(device float* out) {
  out[0] = BOTH(1);
}
