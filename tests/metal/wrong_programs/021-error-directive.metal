// 3:2: "TILE must be defined"
#if !defined(TILE)
#error "TILE must be defined"
#endif
kernel void k(device float* out) {}
