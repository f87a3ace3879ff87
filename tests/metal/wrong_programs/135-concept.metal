// 2:23: unknown type name 'concept'
template <typename T> concept Number = true;
kernel void k(device float* out) {}
