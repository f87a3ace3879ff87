#define TILE 256

kernel void nbody(global const float4* bodies, global float4* out, uint count, float softening) {
  local float4 tile[TILE];
  const uint i = get_global_id(0), t = get_local_id(0);
  const float3 here = bodies[i].xyz;
  float3 sum = 0;
  for (uint first = 0; first < count; first += TILE) {
    tile[t] = bodies[first + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < TILE; ++j) {
      const float3 d = tile[j].xyz - here;
      const float inverse = rsqrt(dot(d, d) + softening);
      sum += d * (tile[j].w * inverse * inverse * inverse);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = (float4)(sum, 0);
}
