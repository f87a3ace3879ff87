#include <metal_stdlib>
using namespace metal;

kernel void mandelbrot(device int* out, constant uint& limit, constant float& left, constant float& top,
                       constant float& step, uint2 at [[thread_position_in_grid]],
                       uint2 size [[threads_per_grid]]) {
  const float cx = left + at.x * step, cy = top + at.y * step;
  float x = 0, y = 0;
  uint n = 0;
  while (n < limit && x * x + y * y <= 4) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++n;
  }
  out[at.y * size.x + at.x] = n;
}
