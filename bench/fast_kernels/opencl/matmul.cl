#define TILE 64
#define DEPTH 16
#define EACH 4
#define SIDE (TILE / EACH)

kernel void matmul(global const float* a, global const float* b, global float* out, uint size) {
  local float left[DEPTH][TILE], right[DEPTH][TILE];
  const uint tx = get_local_id(0), ty = get_local_id(1), index = ty * SIDE + tx;
  const uint row = get_group_id(1) * TILE, column = get_group_id(0) * TILE;
  float4 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (uint k = 0; k < size; k += DEPTH) {
    for (uint e = index; e < TILE * DEPTH; e += SIDE * SIDE) {
      left[e % DEPTH][e / DEPTH] = a[(row + e / DEPTH) * size + k + e % DEPTH];
      right[e / TILE][e % TILE] = b[(k + e / TILE) * size + column + e % TILE];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 0; d < DEPTH; ++d) {
      const float4 l = vload4(ty, left[d]), r = vload4(tx, right[d]);
      s0 += l.x * r;
      s1 += l.y * r;
      s2 += l.z * r;
      s3 += l.w * r;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  global float* to = out + (row + ty * EACH) * size + column + tx * EACH;
  vstore4(s0, 0, to);
  vstore4(s1, 0, to + size);
  vstore4(s2, 0, to + 2 * size);
  vstore4(s3, 0, to + 3 * size);
}
