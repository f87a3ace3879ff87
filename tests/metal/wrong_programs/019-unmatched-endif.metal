// 2:2: #endif without #if
#endif
kernel void k(device float* out) {}
