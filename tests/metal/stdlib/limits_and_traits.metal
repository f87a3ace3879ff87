// Traits of types, and the limits of numbers.
#include "check.h"

static_assert(is_same_v<int, int32_t> && !is_same_v<int, uint>, "");
static_assert(is_floating_point_v<half> && is_floating_point_v<bfloat> && is_floating_point_v<float2>, "");
static_assert(is_scalar_v<half> && !is_scalar_v<half2>, "");
static_assert(is_integral_v<uchar> && !is_integral_v<float>, "");
static_assert(is_signed_v<char> && is_unsigned_v<ulong>, "");
static_assert(is_same_v<make_unsigned_t<short4>, ushort4> && is_same_v<make_signed_t<uchar>, char>, "");
static_assert(is_same_v<conditional_t<true, int, float>, int>, "");
static_assert(is_same_v<enable_if_t<true, half>, half>, "");
static_assert(is_same_v<remove_cv_t<const volatile int>, int>, "");
static_assert(is_same_v<remove_addrspace_t<device int>, int>, "");
static_assert(is_same_v<remove_addrspace_t<threadgroup const float4>, const float4>, "");
static_assert(is_pointer_v<device int*> && is_same_v<remove_pointer_t<device int*>, device int>, "");
static_assert(is_reference_v<thread int&> && is_same_v<remove_reference_t<thread int&>, int>, "");
static_assert(is_array_v<int[3]> && extent_v<int[3]> == 3 && rank_v<int[3][4]> == 2, "");
static_assert(is_convertible_v<int, float> && !is_convertible_v<float4, float>, "");
static_assert(conjunction_v<is_same<int, int>, is_integral<int>> && disjunction_v<is_void<int>, true_type>, "");
static_assert(negation_v<is_enum<int>> && is_class_v<float4> && is_trivially_copyable_v<packed_half3>, "");
static_assert(is_same_v<decltype(declval<float>() + declval<int>()), float>, "");
static_assert(is_same_v<common_type_t<int, float>, float>, "");
static_assert(sizeof(size_t) == 8 && sizeof(ptrdiff_t) == 8 && sizeof(bfloat) == 2 && sizeof(bool) == 1, "");

kernel void limits(device Report* out [[buffer(0)]]) {
  Tally report;
  EXPECT(numeric_limits<char>::min(), char(-128));
  EXPECT(numeric_limits<uchar>::max(), uchar(255));
  EXPECT(numeric_limits<short>::lowest(), short(-32768));
  EXPECT(numeric_limits<ushort>::max(), ushort(65535));
  EXPECT(numeric_limits<int>::max(), 2147483647);
  EXPECT(numeric_limits<uint>::max(), 4294967295u);
  EXPECT(numeric_limits<long>::max(), 9223372036854775807l);
  EXPECT(numeric_limits<ulong>::max(), ~0ul);
  EXPECT(as_type<uint>(numeric_limits<float>::max()), 0x7f7fffffu);
  EXPECT(as_type<uint>(numeric_limits<float>::lowest()), 0xff7fffffu);
  EXPECT(as_type<uint>(numeric_limits<float>::min()), 0x00800000u);
  EXPECT(numeric_limits<float>::epsilon(), 1.1920929e-7f);
  EXPECT(as_type<ushort>(numeric_limits<half>::max()), ushort(0x7bff));
  EXPECT(as_type<ushort>(numeric_limits<half>::infinity()), ushort(0x7c00));
  EXPECT(as_type<ushort>(numeric_limits<bfloat>::max()), ushort(0x7f7f));
  EXPECT(as_type<ushort>(numeric_limits<bfloat>::epsilon()), ushort(0x3c00));
  EXPECT(INT_MIN, -2147483647 - 1);
  EXPECT(FLT_MAX, numeric_limits<float>::max());
  EXPECT(as_type<ushort>(HALF_MIN), ushort(0x0400));
  static_assert(numeric_limits<int>::is_integer && numeric_limits<half>::digits == 11, "");
  report.tell(out);
}

kernel void conversions(device Report* out [[buffer(0)]]) {
  Tally report;
  // Out of range saturates, NaN is zero.
  EXPECT(int(unknown(3e9f)), 2147483647);
  EXPECT(uint(unknown(-1.0f)), 0u);
  EXPECT(long(unknown(-1e30f)), numeric_limits<long>::min());
  EXPECT(char(unknown(200.0h)), char(127));
  EXPECT(static_cast<half>(unknown(bfloat(1.5f))), 1.5h);
  EXPECT(static_cast<bfloat>(unknown(1.5h)), bfloat(1.5f));
  EXPECT(half(unknown(1)), 1.0h);
  EXPECT(unknown(1.0h) + 1.0f, 2.0f);
  EXPECT(unknown(bfloat(1.0f)) + bfloat(2.0f), bfloat(3.0f));
  EXPECT(unknown(bfloat(1.0f)) * 3.0f, 3.0f);
  EXPECT(as_type<ushort>(bfloat(unknown(1.0f))), ushort(0x3f80));
  EXPECT(unknown(1) << unknown(33), 2);
  report.tell(out);
}
