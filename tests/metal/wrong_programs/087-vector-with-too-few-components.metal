// 3:12: call to constructor of 'float4' (aka 'vec<float, 4>') is ambiguous
kernel void k(device float4* out) {
  out[0] = float4(1, 2, 3);
}
