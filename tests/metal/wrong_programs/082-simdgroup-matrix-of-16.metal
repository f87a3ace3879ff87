// 4:35: implicit instantiation of undefined template 'metal::simdgroup_matrix<float, 16, 16>'
using namespace metal;
kernel void k(device float* out) {
  simdgroup_matrix<float, 16, 16> m;
  simdgroup_load(m, out);
}
