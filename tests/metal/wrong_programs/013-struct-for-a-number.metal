// 5:12: assigning to 'float' from incompatible type 'Pair'
struct Pair { float a, b; };
kernel void k(device float* out) {
  Pair p = {1, 2};
  out[0] = p;
}
