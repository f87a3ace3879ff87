#include <metal_stdlib>
using namespace metal;

// One channel out of interleaved ones.
kernel void strided(device const float* x, device float* out, constant uint& stride, constant float& bias,
                    uint i [[thread_position_in_grid]]) {
  out[i] = x[i * stride] + bias;
}
