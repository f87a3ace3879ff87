kernel void quantised_matvec(global const uint4* weights, global const float* scales, global const float4* x,
                             global float* out, uint blocks) {
  local float shared[128];
  const uint row = get_global_id(0) / 32, lane = get_local_id(0) % 32;
  weights += row * blocks;
  scales += row * blocks;
  float sum = 0;
  for (uint block = lane; block < blocks; block += 32) {
    const uint4 quad = weights[block];
    const uint packed[4] = {quad.x, quad.y, quad.z, quad.w};
    global const float4* values = x + block * 8;
    float4 part = 0;
    for (uint w = 0; w < 4; ++w) {
      const uchar4 bytes = as_uchar4(packed[w]);
      part += (convert_float4(bytes & (uchar4)15) - 8) * values[w];
      part += (convert_float4(bytes >> (uchar4)4) - 8) * values[w + 4];
    }
    sum += scales[block] * (part.x + part.y + part.z + part.w);
  }
  sum = lane_sum(sum, shared);
  if (lane == 0) out[row] = sum;
}
