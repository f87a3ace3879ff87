#include <metal_stdlib>
using namespace metal;

constant constexpr uint kBins = 256, kEach = 4;  // 16 bytes each

kernel void clear(device uint* bins, uint i [[thread_position_in_grid]]) { bins[i] = 0; }

// A histogram in each threadgroup, added up at the end. As many threads as bins.
kernel void histogram(device const uint4* x, device atomic_uint* bins, uint group [[threadgroup_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint local[kBins];
  atomic_store_explicit(&local[t], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint e = 0; e < kEach; ++e) {
    const uint4 packed = x[(group * kEach + e) * kBins + t];
    for (uint w = 0; w < 4; ++w)
      for (uint b = 0; b < 32; b += 8)
        atomic_fetch_add_explicit(&local[packed[w] >> b & 255], 1, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&bins[t], atomic_load_explicit(&local[t], memory_order_relaxed), memory_order_relaxed);
}
