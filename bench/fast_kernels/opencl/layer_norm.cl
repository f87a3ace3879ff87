kernel void layer_norm(global const float4* x, global const float4* weight, global const float4* bias,
                       global float4* out, float epsilon) {
  local float shared[256];
  const uint i = get_global_id(0), t = get_local_id(0);
  const float scale = 1.0f / (4 * get_local_size(0));
  const float4 v = x[i];
  const float mean = group_sum(v.x + v.y + v.z + v.w, shared) * scale;
  const float4 d = v - mean;
  const float variance = group_sum(dot(d, d), shared) * scale;
  out[i] = d * rsqrt(variance + epsilon) * weight[t] + bias[t];
}
