// 3:7: value of type 'vec<bool, 4>' is not contextually convertible to 'bool'
kernel void k(device float4* out) {
  if (out[0] < out[1]) out[0] = out[1];
}
