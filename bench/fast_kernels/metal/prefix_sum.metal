#include <metal_stdlib>
using namespace metal;

// Exclusive sums over the threads of a threadgroup; total: over all of them.
static uint group_prefix(uint value, threadgroup uint* shared, thread uint& total, uint lane, uint simdgroup,
                         uint simdgroups) {
  const uint before = simd_prefix_exclusive_sum(value);
  if (lane == 31) shared[simdgroup] = before + value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint mine = lane < simdgroups ? shared[lane] : 0, offset = simd_prefix_exclusive_sum(mine);
  total = simd_sum(mine);
  return simd_shuffle(offset, simdgroup) + before;
}

kernel void scan_blocks(device const uint4* x, device uint4* out, device uint* totals,
                        uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                        uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup uint shared[32];
  uint4 v = x[i];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  uint total;
  out[i] = v + group_prefix(v.w, shared, total, lane, simdgroup, simdgroups);
  if (t == 0) totals[group] = total;
}

// One threadgroup; a thread a block.
kernel void scan_totals(device uint* totals, uint t [[thread_position_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup uint shared[32];
  uint total;
  totals[t] = group_prefix(totals[t], shared, total, lane, simdgroup, simdgroups);
}

kernel void add_totals(device uint4* out, device const uint* totals, uint i [[thread_position_in_grid]],
                       uint group [[threadgroup_position_in_grid]]) {
  out[i] += totals[group];
}
