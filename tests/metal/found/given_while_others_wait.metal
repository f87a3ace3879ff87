// values 3, grid 33x1 group 33x1
// Lanes wait at the ballot while the others give shorts to a sum: what lane 6 gave lay where lane 3's vote was.
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out_u [[buffer(0)]], uint tid [[thread_position_in_grid]]) {
  if (tid % 7u != 3u) {
    short sum = simd_prefix_inclusive_sum(short(1));
    out_u[tid * 4u] = uint(sum);
  }
  out_u[tid * 4u + 3u] = uint((simd_vote::vote_t)simd_ballot(false));
}
