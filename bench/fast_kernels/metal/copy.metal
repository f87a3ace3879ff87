#include <metal_stdlib>
using namespace metal;

kernel void copy(device const float4* x, device float4* out, uint i [[thread_position_in_grid]]) { out[i] = x[i]; }
