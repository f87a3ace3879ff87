// 5:3: no matching function for call to '8x8_load'
using namespace metal;
kernel void k(device int* out) {
  simdgroup_matrix<int, 8, 8> m;
  simdgroup_load(m, out);
}
