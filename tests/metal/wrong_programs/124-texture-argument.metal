// 4:9: no member named 'write' in 'metal::texture2d<float, metal::access::write>'
using namespace metal;
kernel void k(texture2d<float, access::write> image [[texture(0)]], uint2 i [[thread_position_in_grid]]) {
  image.write(float4(1), i);
}
