// 3:40: type 'uint2' is not valid for this attribute
using namespace metal;
kernel void k(device float* out, uint2 i [[thread_index_in_simdgroup]]) {
  out[i.x] = 1;
}
