// 4:11: cannot assign to variable 'p' with const-qualified type 'constant Params &'
struct Params { float scale; };
kernel void k(device float* out, constant Params& p) {
  p.scale = 1;
}
