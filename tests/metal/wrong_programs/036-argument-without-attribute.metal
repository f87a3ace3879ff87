// 2:39: invalid type 'uint' for input declaration in a kernel function: it is neither a pointer or a reference nor has an attribute that says what it is
kernel void k(device float* out, uint i) {
  out[i] = 1;
}
