// Exclusive sums over the items of a work-group; total: over all of them. Each item adds what lies 1, 2, 4 ... before.
static uint group_prefix(uint value, local uint* shared, uint* total) {
  const uint t = get_local_id(0), items = get_local_size(0);
  shared[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 1; step < items; step *= 2) {
    const uint before = t >= step ? shared[t - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[t] += before;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  *total = shared[items - 1];
  return shared[t] - value;
}

kernel void scan_blocks(global const uint4* x, global uint4* out, global uint* totals) {
  local uint shared[256];
  uint4 v = x[get_global_id(0)];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  uint total;
  out[get_global_id(0)] = v + group_prefix(v.w, shared, &total);
  if (get_local_id(0) == 0) totals[get_group_id(0)] = total;
}

kernel void scan_totals(global uint* totals) {
  local uint shared[1024];
  uint total;
  totals[get_local_id(0)] = group_prefix(totals[get_local_id(0)], shared, &total);
}

kernel void add_totals(global uint4* out, global const uint* totals) {
  out[get_global_id(0)] += totals[get_group_id(0)];
}
