// 4:12: no matching function for call to 'zero'
template <typename T> T zero() { return T(0); }
kernel void k(device float* out) {
  out[0] = zero();
}
