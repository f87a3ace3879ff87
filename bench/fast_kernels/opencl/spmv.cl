kernel void spmv(global const uint* starts, global const uint* columns, global const float* values,
                 global const float* x, global float* out) {
  local float shared[256];
  const uint row = get_global_id(0) / 32, lane = get_local_id(0) % 32;
  float sum = 0;
  for (uint i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
  sum = lane_sum(sum, shared);
  if (lane == 0) out[row] = sum;
}
