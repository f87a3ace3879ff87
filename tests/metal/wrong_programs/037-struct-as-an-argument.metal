// 3:41: invalid type 'Params' for input declaration in a kernel function: it is neither a pointer or a reference nor has an attribute that says what it is
struct Params { float scale; };
kernel void k(device float* out, Params p) {
  out[0] = p.scale;
}
