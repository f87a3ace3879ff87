#include <metal_stdlib>
using namespace metal;

constant constexpr uint kTile = 32, kRows = 8;

// A tile goes through threadgroup memory, so that both sides see whole rows.
kernel void transpose(device const float* x, device float* out, constant uint& width, constant uint& height,
                      uint2 group [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[kTile][kTile + 1];
  const uint2 from = group * kTile + t;
  for (uint r = 0; r < kTile; r += kRows) tile[t.y + r][t.x] = x[(from.y + r) * width + from.x];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint2 to = group.yx * kTile + t;
  for (uint r = 0; r < kTile; r += kRows) out[(to.y + r) * height + to.x] = tile[t.x][t.y + r];
}
