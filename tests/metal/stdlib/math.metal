// Mathematical functions. Expected values are those of the exact functions, to ten digits or more.
#include "check.h"

// Units in the last place by which a result may differ: Metal allows 4 to 16 of the precise ones, and of the fast ones an
// absolute error; here all are precise.
#define OF_FLOAT(name, units, expected, ...)                                    \
  EXPECT_NEAR(name(__VA_ARGS__), float(expected), units);                       \
  EXPECT_NEAR(precise::name(__VA_ARGS__), float(expected), units);              \
  EXPECT_NEAR(fast::name(__VA_ARGS__), float(expected), units);

// Of one operand: as float, half, and vectors of both.
#define UNARY(name, x, expected)                                                                             \
  OF_FLOAT(name, 8, expected, unknown(float(x)))                                                             \
  EXPECT_NEAR(name(unknown(half(x))), half(expected), 4);                                                    \
  EXPECT_NEAR(name(unknown(float2(x))), float2(expected), 8);                                                \
  EXPECT_NEAR(name(unknown(float3(x))), float3(expected), 8);                                                \
  EXPECT_NEAR(name(unknown(float4(x))), float4(expected), 8);                                                \
  EXPECT_NEAR(name(unknown(half4(x))), half4(expected), 4);                                                  \
  EXPECT_NEAR(precise::name(unknown(float3(x))), float3(expected), 8);                                       \
  EXPECT_NEAR(fast::name(unknown(float2(x))), float2(expected), 8);
#define BINARY(name, x, y, expected)                                                                         \
  OF_FLOAT(name, 16, expected, unknown(float(x)), unknown(float(y)))                                         \
  EXPECT_NEAR(name(unknown(half(x)), unknown(half(y))), half(expected), 8);                                  \
  EXPECT_NEAR(name(unknown(float2(x)), unknown(float2(y))), float2(expected), 16);                           \
  EXPECT_NEAR(name(unknown(float3(x)), float(y)), float3(expected), 16);                                     \
  EXPECT_NEAR(name(float(x), unknown(float4(y))), float4(expected), 16);                                     \
  EXPECT_NEAR(name(unknown(half3(x)), unknown(half3(y))), half3(expected), 8);
#define TERNARY(name, x, y, z, expected)                                                                     \
  OF_FLOAT(name, 8, expected, unknown(float(x)), unknown(float(y)), unknown(float(z)))                       \
  EXPECT_NEAR(name(unknown(half(x)), unknown(half(y)), unknown(half(z))), half(expected), 4);                \
  EXPECT_NEAR(name(unknown(float4(x)), unknown(float4(y)), unknown(float4(z))), float4(expected), 8);        \
  EXPECT_NEAR(name(unknown(half2(x)), unknown(half2(y)), unknown(half2(z))), half2(expected), 4);

kernel void circular(device Report* out [[buffer(0)]]) {
  Tally report;
  UNARY(sin, 0.5, 0.4794255386)
  UNARY(cos, 0.5, 0.8775825619)
  UNARY(tan, 0.5, 0.5463024898)
  UNARY(asin, 0.5, 0.5235987756)
  UNARY(acos, 0.5, 1.0471975512)
  UNARY(atan, 0.5, 0.4636476090)
  UNARY(sinpi, 0.25, 0.7071067812)
  UNARY(cospi, 0.25, 0.7071067812)
  UNARY(tanpi, 0.125, 0.4142135624)
  UNARY(sinh, 0.5, 0.5210953055)
  UNARY(cosh, 0.5, 1.1276259652)
  UNARY(tanh, 0.5, 0.4621171573)
  UNARY(asinh, 0.5, 0.4812118251)
  UNARY(acosh, 1.5, 0.9624236501)
  UNARY(atanh, 0.5, 0.5493061443)
  BINARY(atan2, 1.0, -1.0, 2.3561944902)
  float cosine = 0;
  EXPECT_NEAR(sincos(unknown(1.0f), cosine), 0.8414709848f, 4);
  EXPECT_NEAR(cosine, 0.5403023059f, 4);
  float3 cosines = 0;
  EXPECT_NEAR(precise::sincos(unknown(float3(1)), cosines), float3(0.8414709848), 4);
  EXPECT_NEAR(cosines, float3(0.5403023059), 4);
  half half_cosine = 0;
  EXPECT_NEAR(sincos(unknown(1.0h), half_cosine), 0.8414709848h, 4);
  EXPECT_NEAR(half_cosine, 0.5403023059h, 4);
  report.tell(out);
}

kernel void exponential(device Report* out [[buffer(0)]]) {
  Tally report;
  UNARY(exp, 0.5, 1.6487212707)
  UNARY(exp2, 0.5, 1.4142135624)
  UNARY(exp10, 0.5, 3.1622776602)
  UNARY(log, 1.5, 0.4054651081)
  UNARY(log2, 1.5, 0.5849625007)
  UNARY(log10, 1.5, 0.1760912591)
  UNARY(sqrt, 2.0, 1.4142135624)
  UNARY(rsqrt, 2.0, 0.7071067812)
  BINARY(pow, 1.5, 2.5, 2.7556759606)
  BINARY(powr, 1.5, 2.5, 2.7556759606)
  EXPECT_NEAR(pow(unknown(3.0f), 2), 9.0f, 4);
  EXPECT(exp(bfloat(0.0f)), 1.0f);
  report.tell(out);
}

kernel void rounding(device Report* out [[buffer(0)]]) {
  Tally report;
  UNARY(ceil, 1.25, 2)
  UNARY(ceil, -1.25, -1)
  UNARY(floor, 1.25, 1)
  UNARY(floor, -1.25, -2)
  UNARY(trunc, -1.75, -1)
  UNARY(rint, 2.5, 2)
  UNARY(rint, 3.5, 4)
  UNARY(round, 2.5, 3)
  UNARY(round, -2.5, -3)
  UNARY(fract, 1.25, 0.25)
  UNARY(fract, -1.25, 0.75)
  UNARY(fabs, -1.5, 1.5)
  UNARY(abs, -1.5, 1.5)
  BINARY(fmod, 5.5, 2.0, 1.5)
  BINARY(fmod, -5.5, 2.0, -1.5)
  BINARY(fdim, 3.0, 1.0, 2.0)
  BINARY(fdim, 1.0, 3.0, 0.0)
  BINARY(divide, 3.0, 2.0, 1.5)
  float whole = 0;
  EXPECT(modf(unknown(-3.75f), whole), -0.75f);
  EXPECT(whole, -3.0f);
  half2 wholes = 0;
  EXPECT(modf(unknown(half2(2.5)), wholes), half2(0.5));
  EXPECT(wholes, half2(2));
  report.tell(out);
}

kernel void parts(device Report* out [[buffer(0)]]) {
  Tally report;
  int exponent = 0;
  EXPECT(frexp(unknown(12.0f), exponent), 0.75f);
  EXPECT(exponent, 4);
  EXPECT(frexp(unknown(-0.125h), exponent), -0.5h);
  EXPECT(exponent, -2);
  int2 exponents = 0;
  EXPECT(frexp(unknown(float2(1, 3)), exponents), float2(0.5, 0.75));
  EXPECT(exponents, int2(1, 2));
  EXPECT(ilogb(unknown(12.0f)), 3);
  EXPECT(ilogb(unknown(half2(0.25, 8))), int2(-2, 3));
  EXPECT(ldexp(unknown(0.75f), 4), 12.0f);
  EXPECT(ldexp(unknown(0.75h), 4), 12.0h);
  EXPECT(ldexp(unknown(float3(1, 2, 3)), int3(1, 0, -1)), float3(2, 2, 1.5));
  EXPECT(copysign(unknown(3.0f), -0.0f), -3.0f);
  EXPECT(copysign(unknown(half2(3, -3)), half2(-1, 1)), half2(-3, 3));
  EXPECT(as_type<uint>(nextafter(unknown(1.0f), 2.0f)), 0x3f800001u);
  EXPECT(as_type<ushort>(nextafter(unknown(1.0h), 0.0h)), ushort(0x3bff));
  EXPECT(nextafter(unknown(float2(1)), float2(1)), float2(1));
  report.tell(out);
}

kernel void several(device Report* out [[buffer(0)]]) {
  Tally report;
  BINARY(fmin, 1.0, 2.0, 1.0)
  BINARY(fmax, 1.0, 2.0, 2.0)
  BINARY(min, 1.0, 2.0, 1.0)
  BINARY(max, 1.0, 2.0, 2.0)
  TERNARY(fmin3, 3.0, 1.0, 2.0, 1.0)
  TERNARY(fmax3, 3.0, 1.0, 2.0, 3.0)
  TERNARY(fmedian3, 3.0, 1.0, 2.0, 2.0)
  TERNARY(min3, 3.0, 1.0, 2.0, 1.0)
  TERNARY(max3, 3.0, 1.0, 2.0, 3.0)
  TERNARY(median3, 3.0, 1.0, 2.0, 2.0)
  TERNARY(fma, 3.0, 1.5, 2.0, 6.5)
  EXPECT(max(bfloat(1.0f), bfloat(2.0f)), 2.0f);
  EXPECT(abs(bfloat(-2.0f)), 2.0f);
  report.tell(out);
}

kernel void constants(device Report* out [[buffer(0)]]) {
  Tally report;
  EXPECT(M_PI_F, 3.1415927f);
  EXPECT(M_E_F, 2.7182817f);
  EXPECT(M_SQRT2_F, 1.4142135f);
  EXPECT(M_LN2_H, 0.6934h);
  EXPECT(float(M_PI_BF), 3.140625f);
  EXPECT(as_type<uint>(INFINITY), 0x7f800000u);
  CHECK((as_type<uint>(NAN) & 0x7fffffff) > 0x7f800000);
  EXPECT(as_type<uint>(MAXFLOAT), 0x7f7fffffu);
  EXPECT(as_type<ushort>(MAXHALF), ushort(0x7bff));
  report.tell(out);
}
