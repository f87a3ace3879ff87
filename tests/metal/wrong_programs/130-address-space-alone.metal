// 2:23: a type specifier is required for all declarations
kernel void k(device* out) {
  out[0] = 1;
}
