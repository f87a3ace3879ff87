// 2:46: static assertion failed due to requirement '12 % 8 == 0': tiles have multiples of 8 rows
template <int N> void tile() { static_assert(N % 8 == 0, "tiles have multiples of 8 rows"); }
kernel void k(device float* out) {
  tile<12>();
}
