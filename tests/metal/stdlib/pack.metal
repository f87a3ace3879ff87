// Packing and unpacking.
#include "check.h"

kernel void packing(device Report* out [[buffer(0)]]) {
  Tally report;
  EXPECT(pack_float_to_unorm4x8(unknown(float4(0, 1, 0.5, 2))), 0xff80ff00u);
  EXPECT(pack_float_to_snorm4x8(unknown(float4(-1, 1, 0, -2))), 0x81007f81u);
  EXPECT(pack_float_to_unorm2x16(unknown(float2(1, 0))), 0x0000ffffu);
  EXPECT(pack_float_to_snorm2x16(unknown(float2(-1, 1))), 0x7fff8001u);
  EXPECT(pack_float_to_unorm10a2(unknown(float4(1, 0, 1, 1))), 0xfff003ffu);
  EXPECT(pack_float_to_unorm565(unknown(float3(1, 0, 1))), ushort(0xf81f));
  EXPECT(pack_float_to_srgb_unorm4x8(unknown(float4(1, 0, 0.2158605, 1))), 0xff8000ffu);
  EXPECT(pack_half_to_unorm4x8(unknown(half4(0, 1, 0, 1))), 0xff00ff00u);
  EXPECT(pack_half_to_snorm2x16(unknown(half2(1, -1))), 0x80017fffu);
  EXPECT(unpack_unorm4x8_to_float(unknown(0xff00ff00u)), float4(0, 1, 0, 1));
  EXPECT(unpack_snorm4x8_to_float(unknown(0x81807f00u)), float4(0, 1, -1, -1));
  EXPECT(unpack_unorm2x16_to_float(unknown(0x0000ffffu)), float2(1, 0));
  EXPECT(unpack_snorm2x16_to_float(unknown(0x7fff8001u)), float2(-1, 1));
  EXPECT(unpack_unorm10a2_to_float(unknown(0x7ff00000u)), float4(0, 0, 1, float(1) / 3));
  EXPECT(unpack_unorm565_to_float(unknown(ushort(0xf81f))), float3(1, 0, 1));
  EXPECT_NEAR(unpack_unorm4x8_srgb_to_float(unknown(0xff8000ffu)), float4(1, 0, 0.2158605, 1), 16);
  EXPECT(unpack_unorm4x8_to_half(unknown(0xff00ff00u)), half4(0, 1, 0, 1));
  report.tell(out);
}
