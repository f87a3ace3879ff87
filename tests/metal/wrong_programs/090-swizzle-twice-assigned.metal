// 3:10: vector is not assignable (contains duplicate components)
kernel void k(device float4* out) {
  out[0].xx = float2(1, 2);
}
