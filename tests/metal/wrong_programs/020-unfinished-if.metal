// 2:2: unterminated conditional directive
#if __METAL_VERSION__ >= 300
kernel void k(device float* out) {}
