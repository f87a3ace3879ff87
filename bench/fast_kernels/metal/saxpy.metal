#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float* x, device const float* y, device float* out, constant float& a,
                  uint i [[thread_position_in_grid]]) {
  out[i] = a * x[i] + y[i];
}
