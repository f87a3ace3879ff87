// 3:12: no matching constructor for initialization of 'float3' (aka 'vec<float, 3>')
kernel void k(device float3* out) {
  out[0] = float3(1, 2, 3, 4);
}
