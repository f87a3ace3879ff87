// 4:3: no matching function for call to 'atomic_fetch_add'
using namespace metal;
kernel void k(device atomic<half>* out) {
  atomic_fetch_add_explicit(out, 1.0h, memory_order_relaxed);
}
