// 4:12: member reference base type 'device float' is not a structure or union
#define SQUARE(x) ((x) * (x).value)
kernel void k(device float* out) {
  out[0] = SQUARE(out[1]);
}
