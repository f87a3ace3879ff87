#define TILE 32
#define ROWS 8

kernel void transpose(global const float* x, global float* out, uint width, uint height) {
  local float tile[TILE][TILE + 1];
  const uint tx = get_local_id(0), ty = get_local_id(1), gx = get_group_id(0) * TILE, gy = get_group_id(1) * TILE;
  for (uint r = 0; r < TILE; r += ROWS) tile[ty + r][tx] = x[(gy + ty + r) * width + gx + tx];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint r = 0; r < TILE; r += ROWS) out[(gx + ty + r) * height + gy + tx] = tile[tx][ty + r];
}
