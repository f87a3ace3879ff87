// Vectors and packed vectors, how they are made, read, written and combined.
#include "check.h"

template <typename T>
void check_layout() {
  static_assert(sizeof(vec<T, 2>) == 2 * sizeof(T) && alignof(vec<T, 2>) == 2 * sizeof(T), "");
  static_assert(sizeof(vec<T, 3>) == 4 * sizeof(T) && alignof(vec<T, 3>) == 4 * sizeof(T), "");
  static_assert(sizeof(vec<T, 4>) == 4 * sizeof(T) && alignof(vec<T, 4>) == 4 * sizeof(T), "");
  static_assert(sizeof(packed_vec<T, 2>) == 2 * sizeof(T) && alignof(packed_vec<T, 2>) == alignof(T), "");
  static_assert(sizeof(packed_vec<T, 3>) == 3 * sizeof(T) && alignof(packed_vec<T, 3>) == alignof(T), "");
  static_assert(sizeof(packed_vec<T, 4>) == 4 * sizeof(T) && alignof(packed_vec<T, 4>) == alignof(T), "");
  static_assert(is_trivially_copyable_v<vec<T, 3>>, "");
}

template <typename T>
void check_integers(thread Tally& report) {
  check_layout<T>();
  typedef vec<T, 4> V;
  const V a = unknown(V(1, 2, 3, 4));
  const V b = unknown(V(5, 6, 7, 8));
  EXPECT(a + b, V(6, 8, 10, 12));
  EXPECT(b - a, V(4, 4, 4, 4));
  EXPECT(a * b, V(5, 12, 21, 32));
  EXPECT(b / a, V(5, 3, 2, 2));
  EXPECT(b % a, V(0, 0, 1, 0));
  EXPECT(a & b, V(1, 2, 3, 0));
  EXPECT(a | b, V(5, 6, 7, 12));
  EXPECT(a ^ b, V(4, 4, 4, 12));
  EXPECT(a << T(1), V(2, 4, 6, 8));
  EXPECT(b >> V(1, 1, 2, 3), V(2, 3, 1, 1));
  EXPECT(a << T(8 * sizeof(T) + 1), V(2, 4, 6, 8));
  EXPECT(~a + T(1) + a, V(0));
  EXPECT(a + T(1), V(2, 3, 4, 5));
  EXPECT(T(10) - a, V(9, 8, 7, 6));
  EXPECT(a * 2, V(2, 4, 6, 8));
  EXPECT(a == b.wzyx - V(7, 5, 3, 1), bool4(true, true, true, true));
  EXPECT(a < V(2), bool4(true, false, false, false));
  EXPECT(a <= T(2), bool4(true, true, false, false));
  EXPECT(a > V(2), bool4(false, false, true, true));
  EXPECT(a >= T(2), bool4(false, true, true, true));
  EXPECT(a != V(1, 0, 3, 0), bool4(false, true, false, true));
  EXPECT(a && V(0, 1, 0, 1), bool4(false, true, false, true));
  EXPECT(!(a - T(1)), bool4(true, false, false, false));
  V c = a;
  c += b;
  c -= T(1);
  c *= V(2);
  c /= T(2);
  EXPECT(c, V(5, 7, 9, 11));
  c %= T(4);
  c <<= T(1);
  c |= V(1);
  c ^= T(2);
  c &= T(7);
  c >>= T(1);
  EXPECT(c, V(0, 2, 0, 2));
  EXPECT(c++, V(0, 2, 0, 2));
  EXPECT(--c, V(0, 2, 0, 2));
}

template <typename T>
void check_reals(thread Tally& report) {
  check_layout<T>();
  typedef vec<T, 3> V;
  const V a = unknown(V(T(1), T(2), T(4)));
  EXPECT(a + a, V(T(2), T(4), T(8)));
  EXPECT(-a, V(T(-1), T(-2), T(-4)));
  EXPECT(T(8) / a, V(T(8), T(4), T(2)));
  EXPECT(a * T(0.5f) - T(1), V(T(-0.5f), T(0), T(1)));
  EXPECT(a > T(1), bool3(false, true, true));
  EXPECT(int3(a * T(1.5f)), int3(1, 3, 6));
  EXPECT(static_cast<V>(int3(3, 4, 5)), V(T(3), T(4), T(5)));
}

kernel void arithmetic(device Report* out [[buffer(0)]]) {
  Tally report;
  check_integers<char>(report);
  check_integers<uchar>(report);
  check_integers<short>(report);
  check_integers<ushort>(report);
  check_integers<int>(report);
  check_integers<uint>(report);
  check_integers<long>(report);
  check_integers<ulong>(report);
  check_reals<float>(report);
  check_reals<half>(report);
  check_reals<bfloat>(report);
  check_layout<bool>();
  EXPECT(int2(-7, 7) / int2(2), int2(-3, 3));
  EXPECT(uchar2(200, 100) + uchar2(100, 100), uchar2(44, 200));
  EXPECT(bool2(true, false) && bool2(true, true), bool2(true, false));
  EXPECT(bool2(true, false) || false, bool2(true, false));
  report.tell(out);
}

kernel void making(device Report* out [[buffer(0)]]) {
  Tally report;
  const float2 two(1, 2);
  const float3 three(3, 4, 5);
  EXPECT(float4(7), float4(7, 7, 7, 7));
  EXPECT(float4(two, 8, 9), float4(1, 2, 8, 9));
  EXPECT(float4(8, two, 9), float4(8, 1, 2, 9));
  EXPECT(float4(8, 9, two), float4(8, 9, 1, 2));
  EXPECT(float4(two, two), float4(1, 2, 1, 2));
  EXPECT(float4(three, 6), float4(3, 4, 5, 6));
  EXPECT(float4(6, three), float4(6, 3, 4, 5));
  EXPECT(float3(two, 3), float3(1, 2, 3));
  EXPECT(float3(3, two), float3(3, 1, 2));
  const float4 braces = {1, 2, 3};
  EXPECT(braces, float4(1, 2, 3, 0));
  const float4 none{};
  EXPECT(none, float4(0));
  const float4 from_scalar = 2;
  EXPECT(from_scalar, float4(2));
  EXPECT(int4(float4(1.9, -1.9, 2.5, -0.1)), int4(1, -1, 2, 0));
  EXPECT(uchar4(float4(-5, 300, 1, 254.9)), uchar4(0, 255, 1, 254));
  EXPECT(bool4(int4(0, 1, -1, 256)), bool4(false, true, true, true));
  EXPECT(half4(float4(0.1)), half4(half(0.1)));
  constexpr float4 known = float4(float2(1, 2), 3, 4).wzyx;
  static_assert(known.x == 4 && known[1] == 3 && known.zw.y == 1, "");
  EXPECT(as_type<uint2>(float2(1, -2)), uint2(0x3f800000, 0xc0000000));
  EXPECT(as_type<float>(half2(1, 2)), as_type<float>(0x40003c00u));
  EXPECT(as_type<ulong>(uint2(1, 2)), 0x200000001ul);
  report.tell(out);
}

kernel void selecting(device Report* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  Tally report;
  float4 v = unknown(float4(1, 2, 3, 4));
  EXPECT(v.x, 1.0f);
  EXPECT(v.w, 4.0f);
  EXPECT(float(v.g), 2.0f);
  EXPECT(v.xy, float2(1, 2));
  EXPECT(v.wx, float2(4, 1));
  EXPECT(v.bgr, float3(3, 2, 1));
  EXPECT(v.xxyy, float4(1, 1, 2, 2));
  EXPECT(v.rgba.abgr, float4(4, 3, 2, 1));
  EXPECT(v.yzw.z, 4.0f);
  v.xy += 10;
  EXPECT(v, float4(11, 12, 3, 4));
  v.zw = v.xy;
  EXPECT(v, float4(11, 12, 11, 12));
  v.wzyx = float4(1, 2, 3, 4);
  EXPECT(v, float4(4, 3, 2, 1));
  v.a = 9;
  v.xz *= float2(2, 3);
  EXPECT(v, float4(8, 3, 6, 9));
  EXPECT(v[i & 3], i % 4 == 0 ? 8.0f : i % 4 == 1 ? 3.0f : i % 4 == 2 ? 6.0f : 9.0f);
  v[i & 1] = 0;
  EXPECT(v, i % 2 == 0 ? float4(0, 3, 6, 9) : float4(8, 0, 6, 9));
  int3 triple = {1, 2, 3};
  triple.zyx = triple;
  EXPECT(triple, int3(3, 2, 1));
  triple.yz = triple.zy;
  EXPECT(triple, int3(3, 1, 2));
  report.tell(out);
}

struct Pair {
  float4 a;
  float4 b;
};
constant Pair pairs[2] = {{float4(1), float4(2)}, {float4(3), float4(4)}};

float4 chosen(constant Pair& pair, const threadgroup float4* shared, uint i) {
  return i == 0 ? pair.a : i == 1 ? shared[i] : i == 2 ? *shared : float4(9);
}

// Both sides of a choice may lie anywhere.
kernel void choosing(device Report* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  Tally report;
  threadgroup float4 shared[2];
  if (i < 2) shared[i] = float4(5 + i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(chosen(pairs[1], shared, i), i == 0 ? float4(3) : i == 1 ? float4(6) : i == 2 ? float4(5) : float4(9));
  EXPECT(i == 0 ? float4(i) : pairs[0].b, i == 0 ? float4(0) : float4(2));
  const Pair pair = i % 2 == 0 ? pairs[0] : Pair{float4(0), float4(0)};
  EXPECT(pair.b, i % 2 == 0 ? float4(2) : float4(0));
  float x = 1;
  float y = 2;
  (i % 2 == 0 ? x : y) = 7;
  EXPECT(x + y, i % 2 == 0 ? 9.0f : 8.0f);
  const thread float* pointer = i == 0 ? &x : nullptr;
  CHECK((pointer != nullptr) == (i == 0));
  int counts[2] = {0, 0};
  ++counts[i < 3 ? 0 : 1];
  EXPECT(counts[0], i < 3 ? 1 : 0);
  report.tell(out);
}

kernel void packed(device Report* out [[buffer(0)]]) {
  Tally report;
  threadgroup packed_float3 shared[2];
  shared[0] = float3(1, 2, 3);
  shared[1] = packed_float3(4, 5, 6);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  EXPECT(float3(shared[0]), float3(1, 2, 3));
  EXPECT(shared[0] + shared[1], float3(5, 7, 9));
  EXPECT(shared[0] * 2.0f, float3(2, 4, 6));
  EXPECT(1.0f - shared[0], float3(0, -1, -2));
  EXPECT(shared[1] - float3(1), float3(3, 4, 5));
  EXPECT(float3(1) + shared[1], float3(5, 6, 7));
  EXPECT(-shared[0], float3(-1, -2, -3));
  EXPECT(shared[0] < shared[1], bool3(true));
  EXPECT(shared[1].zx, float2(6, 4));
  EXPECT(max(shared[0], 2.0f), float3(2, 2, 3));
  EXPECT(floor(shared[1]), float3(4, 5, 6));
  EXPECT(fma(shared[0], float3(2), float3(1)), float3(3, 5, 7));
  EXPECT(dot(shared[0], shared[1]), 32.0f);
  EXPECT(length_squared(shared[0]), 14.0f);
  EXPECT(shared[1][1], 5.0f);
  packed_half4 h = half4(1, 2, 3, 4);
  h += half4(1);
  h.xy = half2(9, 8);
  EXPECT(half4(h), half4(9, 8, 4, 5));
  EXPECT(float4(h), float4(9, 8, 4, 5));
  EXPECT(packed_short2(packed_float2(1.5, -2.5)) == packed_short2(1, -2), bool2(true));
  report.tell(out);
}
