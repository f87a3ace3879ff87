// 4:10: no viable overloaded '='
using namespace metal;
kernel void k(device atomic_uint* out) {
  out[0] = 1;
}
