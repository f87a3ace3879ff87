// 3:12: value of type 'vec<bool, 4>' is not contextually convertible to 'bool'
kernel void k(device float4* out) {
  out[0] = (out[0] > 0.0) ? out[1] : out[2];
}
