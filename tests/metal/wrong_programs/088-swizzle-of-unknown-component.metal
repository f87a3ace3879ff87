// 3:23: no member named 'xyq' in 'metal::vec<float, 4>'
kernel void k(device float4* out) {
  out[0].xyz = out[1].xyq;
}
