#include <metal_stdlib>
using namespace metal;

// Heat on a plate whose rim keeps its temperature.
kernel void stencil(device const float* x, device float* out, constant float& rate,
                    uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
  const uint i = at.y * size.x + at.x;
  const float here = x[i];
  if (at.x == 0 || at.y == 0 || at.x == size.x - 1 || at.y == size.y - 1) {
    out[i] = here;
    return;
  }
  out[i] = here + rate * (x[i - 1] + x[i + 1] + x[i - size.x] + x[i + size.x] - 4 * here);
}
