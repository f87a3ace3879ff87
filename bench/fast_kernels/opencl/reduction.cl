kernel void reduction(global const float4* x, global float* sums, uint quads) {
  local float shared[256];
  float4 part = 0;
  for (uint c = get_global_id(0); c < quads; c += get_global_size(0)) part += x[c];
  const float sum = group_sum(part.x + part.y + part.z + part.w, shared);
  if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}
