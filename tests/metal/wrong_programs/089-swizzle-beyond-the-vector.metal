// 3:21: no member named 'z' in 'metal::vec<float, 2>'
kernel void k(device float2* out) {
  out[0].x = out[1].z;
}
