// 4:3: no matching function for call to 'threadgroup_barrier'
using namespace metal;
kernel void k(device float* out) {
  threadgroup_barrier(2);
}
