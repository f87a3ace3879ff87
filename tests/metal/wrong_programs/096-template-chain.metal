// 2:46: member reference base type 'float' is not a structure or union
template <typename T> T inner(T x) { return x.missing; }
template <typename T> T outer(T x) { return inner(x) + 1; }
kernel void k(device float* out) {
  out[0] = outer(out[1]);
}
