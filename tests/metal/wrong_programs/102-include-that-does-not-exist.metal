// 3:10: 'kernels/softmax.h' file not found
#include <metal_stdlib>
#include "kernels/softmax.h"
kernel void k(device float* out) {}
