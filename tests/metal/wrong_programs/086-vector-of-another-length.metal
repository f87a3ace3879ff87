// 3:10: no viable overloaded '='
kernel void k(device float4* out, device float3* in) {
  out[0] = in[0];
}
