#define BINS 256
#define EACH 4

kernel void clear(global uint* bins) { bins[get_global_id(0)] = 0; }

kernel void histogram(global const uint4* x, global uint* bins) {
  local uint counts[BINS];
  const uint t = get_local_id(0);
  counts[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = 0; e < EACH; ++e) {
    const uint4 quad = x[(get_group_id(0) * EACH + e) * BINS + t];
    const uint packed[4] = {quad.x, quad.y, quad.z, quad.w};
    for (uint w = 0; w < 4; ++w)
      for (uint b = 0; b < 32; b += 8) atomic_inc(&counts[packed[w] >> b & 255]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[t], counts[t]);
}
