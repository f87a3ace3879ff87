// 4:38: use of undeclared identifier 'relaxed'
using namespace metal;
kernel void k(device atomic_uint* out) {
  atomic_fetch_add_explicit(out, 1u, relaxed);
}
