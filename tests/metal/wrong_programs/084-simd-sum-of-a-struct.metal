// 6:12: no matching function for call to 'simd_sum'
using namespace metal;
struct Pair { float a, b; };
kernel void k(device float* out) {
  Pair p = {1, 2};
  out[0] = simd_sum(p).a;
}
