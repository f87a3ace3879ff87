// 4:3: no matching function for call to 'atomic_fetch_add_explicit'
using namespace metal;
kernel void k(device float* out) {
  atomic_fetch_add_explicit(out, 1.0f, memory_order_relaxed);
}
