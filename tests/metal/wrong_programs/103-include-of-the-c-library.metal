// 2:10: 'cmath' file not found
#include <cmath>
kernel void k(device float* out) {}
