#include <metal_stdlib>
using namespace metal;

constant constexpr uint kTile = 256;

// Accelerations; xyz is a body's place and w its mass. A tile of bodies at a time in threadgroup memory.
kernel void nbody(device const float4* bodies, device float4* out, constant uint& count, constant float& softening,
                  uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float4 tile[kTile];
  const float3 here = bodies[i].xyz;
  float3 sum = 0;
  for (uint first = 0; first < count; first += kTile) {
    tile[t] = bodies[first + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < kTile; ++j) {
      const float3 d = tile[j].xyz - here;
      const float inverse = rsqrt(dot(d, d) + softening);
      sum += d * (tile[j].w * inverse * inverse * inverse);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[i] = float4(sum, 0);
}
