#include <metal_stdlib>
using namespace metal;

constant constexpr uint kLeaves = 256;

// A European call on a tree of 255 steps: a threadgroup an option, a thread a leaf, and back from the leaves.
kernel void binomial(device const float* price, device const float* strike, device float* out, constant float& up,
                     constant float& probability, constant float& discount,
                     uint option [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float values[2][kLeaves];
  const float end = price[option] * exp(up * (2 * float(t) - (kLeaves - 1)));
  values[0][t] = max(end - strike[option], 0.0f);
  const float rise = discount * probability, fall = discount * (1 - probability);
  uint from = 0;
  for (uint nodes = kLeaves - 1; nodes > 0; --nodes) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < nodes) values[1 - from][t] = rise * values[from][t + 1] + fall * values[from][t];
    from = 1 - from;
  }
  if (t == 0) out[option] = values[from][0];
}
