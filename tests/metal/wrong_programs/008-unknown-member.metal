// 4:14: no member named 'size' in 'Params'
struct Params { uint n; };
kernel void k(device uint* out, constant Params& p) {
  out[0] = p.size;
}
