#include <metal_stdlib>
using namespace metal;

// One stable pass over four bits: count the digits of each block, scan the counts, put each key in its place.
constant constexpr uint kDigits = 16, kThreads = 256, kEach = 8, kSimdgroups = kThreads / 32;

kernel void count_digits(device const uint* keys, device uint* counts, constant uint& shift, constant uint& blocks,
                         uint block [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint local[kDigits];
  if (t < kDigits) atomic_store_explicit(&local[t], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint e = 0; e < kEach; ++e) {
    const uint key = keys[(block * kEach + e) * kThreads + t];
    atomic_fetch_add_explicit(&local[key >> shift & (kDigits - 1)], 1, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < kDigits) counts[t * blocks + block] = atomic_load_explicit(&local[t], memory_order_relaxed);
}

// One threadgroup; a thread scans `each` counts in turn.
kernel void scan_counts(device uint* counts, constant uint& each, uint t [[thread_position_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup uint shared[32];
  uint sum = 0;
  for (uint e = 0; e < each; ++e) sum += counts[t * each + e];
  const uint before = simd_prefix_exclusive_sum(sum);
  if (lane == 31) shared[simdgroup] = before + sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint offsets = simd_prefix_exclusive_sum(lane < simdgroups ? shared[lane] : 0);
  uint place = simd_shuffle(offsets, simdgroup) + before;
  for (uint e = 0; e < each; ++e) {
    const uint count = counts[t * each + e];
    counts[t * each + e] = place;
    place += count;
  }
}

kernel void scatter(device const uint* keys, device uint* out, device const uint* places, constant uint& shift,
                    constant uint& blocks, uint block [[threadgroup_position_in_grid]],
                    uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup uint running[kSimdgroups][kDigits];
  if (t < kSimdgroups * kDigits) running[t / kDigits][t % kDigits] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup uint* mine = running[simdgroup];
  keys += (block * kSimdgroups + simdgroup) * kEach * 32;
  uint ranks[kEach];
  for (uint e = 0; e < kEach; ++e) {
    const uint digit = keys[e * 32 + lane] >> shift & (kDigits - 1);
    uint peers = ~0u;  // the lanes with the same digit
    for (uint bit = 1; bit < kDigits; bit *= 2) {
      const uint votes = uint(ulong(simd_ballot((digit & bit) != 0)));
      peers &= digit & bit ? votes : ~votes;
    }
    const uint before = popcount(peers & ((1u << lane) - 1)), base = mine[digit];
    ranks[e] = base + before;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (before == 0) mine[digit] = base + popcount(peers);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < kDigits) {
    uint place = places[t * blocks + block];
    for (uint s = 0; s < kSimdgroups; ++s) {
      const uint count = running[s][t];
      running[s][t] = place;
      place += count;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint e = 0; e < kEach; ++e) {
    const uint key = keys[e * 32 + lane];
    out[mine[key >> shift & (kDigits - 1)] + ranks[e]] = key;
  }
}
