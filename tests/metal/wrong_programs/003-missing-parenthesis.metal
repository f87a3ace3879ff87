// 4:19: expected ')'
using namespace metal;
kernel void k(device float* out) {
  out[0] = sin(1.0;
}
