// 4:3: no matching function for call to 'atomic_fetch_and'
using namespace metal;
kernel void k(device atomic_float* out) {
  atomic_fetch_and_explicit(out, 1.0f, memory_order_relaxed);
}
