// 4:34: no member named 'mem_shared' in 'metal::mem_flags'
using namespace metal;
kernel void k(device float* out) {
  threadgroup_barrier(mem_flags::mem_shared);
}
