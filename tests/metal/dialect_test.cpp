// Metal as other people write it: what kernels of MLX, llama.cpp, candle, mistral.rs and MNN do besides what is in the
// specification's examples. tests/conformance/metal_sources.py compiles theirs.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::Grid;
using testing::refusal_of;
using testing::results;
using testing::run_source;

using Ints = std::vector<std::int32_t>;
using Floats = std::vector<float>;

// ---- objects of a class in several address spaces (conditionals.h) ----

TEST(Dialect, AConditionalChoosesBetweenObjectsInAnySpaces) {
  const char* source = R"(
struct Pair { int a; int b; };
constant Pair kNone = {7, 9};
kernel void k(device int* out, const device Pair* in [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  threadgroup Pair shared[1];
  shared[0] = Pair{3, 4};
  const Pair first = i == 0 ? in[0] : Pair{1, 2};
  const Pair second = i == 0 ? shared[0] : kNone;
  const Pair third = i == 0 ? kNone : i == 1 ? in[0] : shared[0];
  out[i] = 100 * first.a + 10 * second.b + third.a;
})";
  Ints out(2);
  Ints in = {5, 6};
  run_source(source, "k", {out.data(), in.data()}, Grid{2, 1});
  EXPECT_EQ(out, (Ints{547, 195}));
}

TEST(Dialect, ByValueAllOtherConditionalsStayWhatTheyAre) {
  // The vector makes all of them choose by value; the others have to keep references, null pointers and constants.
  const char* source = R"(
template <int N> struct Blocks { static constexpr int kCount = N > 4 ? N / 4 : 1; int of[N > 2 ? N : 2]; };
kernel void k(device int* out, const device float4* in [[buffer(1)]], device int* maybe [[buffer(2)]]) {
  const float4 v = out[0] == 0 ? in[0] : float4(0);
  int x = 1, y = 2;
  (v.x > 0 ? x : y) = 5;
  device int* p = v.x > 0 ? maybe : nullptr;
  switch (x > 0 ? 1 : 2) {
    case sizeof(int) == 4 ? 1 : 3: out[2] = 11; break;
    default: out[2] = 12;
  }
  out[0] = x * 10 + y;
  out[1] = (p ? *p : 0) + Blocks<8>::kCount + int(sizeof(Blocks<1>) / 4);
})";
  Ints out(3);
  Floats in = {1, 2, 3, 4};
  Ints maybe = {100};
  run_source(source, "k", {out.data(), in.data(), maybe.data()});
  EXPECT_EQ(out, (Ints{52, 104, 11}));
}

TEST(Dialect, AWrongConditionalIsStillAnError) {
  const std::string said =
      refusal_of("struct A {}; struct B {}; kernel void k(device int* o) { o[0] = true ? A() : B(); }");
  EXPECT_NE(said.find("incompatible operand types ('A' and 'B')"), std::string::npos) << said;
}

// ---- methods for each address space ----

TEST(Dialect, MethodsMayBeQualifiedBesideOneThatIsNot) {
  const char* source = R"(
template <typename T> struct Value {
  T v;
  constexpr Value<T>() = default;
  constexpr Value<T>() threadgroup = default;
  constexpr Value<T>() constant = default;
  constexpr Value<T>(T x) : v(x) {}
  T get() const { return v; }
  T get() const threadgroup { return v; }
  T twice() const device { return 2 * v; }
  T twice() const { return 2 * v; }
  Value operator+(Value other) constant { return {v + other.v}; }
};
constant Value<int> kOne = {1};
kernel void k(device Value<int>* out) {
  threadgroup Value<int> shared;
  shared = Value<int>(3);
  out[1] = kOne + Value<int>(40);
  out[0] = Value<int>(shared.get() + out[1].twice() + kOne.get());
})";
  EXPECT_EQ(results<std::int32_t>(source, 2), (Ints{86, 41}));
}

TEST(Dialect, AMethodForASpaceMayGiveAReferenceIntoIt) {
  // As SPIRV-Cross writes arrays.
  const char* source = R"(
template <typename T, size_t N> struct Array {
  T elements[N];
  device T& operator[](size_t i) device { return elements[i]; }
  constexpr const device T& operator[](size_t i) const device { return elements[i]; }
  thread T& operator[](size_t i) thread { return elements[i]; }
  constexpr const thread T& operator[](size_t i) const thread { return elements[i]; }
  constexpr const constant T& operator[](size_t i) const constant { return elements[i]; }
};
constant Array<int, 2> kTable = {{4, 5}};
kernel void k(device Array<int, 2>& out) {
  Array<int, 2> own = {{1, 2}};
  own[1] += kTable[0];
  out[0] = own[1];
  out[1] = kTable[1] + out[0];
})";
  EXPECT_EQ(results<std::int32_t>(source, 2), (Ints{6, 11}));
}

// ---- words ----

TEST(Dialect, MemoryIsCoherentWithoutBeingAsked) {
  const char* source = R"(
kernel void k(volatile coherent(system) device int* out, coherent device int* in [[buffer(1)]]) {
  int coherent = 4;
  out[0] = coherent + in[0];
})";
  Ints out(1);
  Ints in = {3};
  run_source(source, "k", {out.data(), in.data()});
  EXPECT_EQ(out, Ints{7});
}

// ---- names of Apple's headers that programs use ----

TEST(Dialect, LimitsCanBeSaidOfATypeOfOnesOwn) {
  const char* source = R"(
#include <metal_stdlib>
using namespace metal;
template <typename T> struct Indexed { T value; uint at; };
template <typename T> struct metal::_numeric_limits_impl<Indexed<T>> {
  static constexpr METAL_FUNC Indexed<T> lowest() { return {numeric_limits<T>::lowest(), 3u}; }
};
kernel void k(device int* out) {
  out[0] = numeric_limits<Indexed<int>>::lowest().value;
  out[1] = numeric_limits<Indexed<int>>::lowest().at;
  out[2] = vec_elements<float3>::value * 10 + vec_elements<float>::value;
  out[3] = __is_valid_simdgroup_type<half2>::value * 10 + __is_valid_simdgroup_type<long>::value;
})";
  EXPECT_EQ(results<std::int32_t>(source, 4), (Ints{INT32_MIN, 3, 30, 10}));
}

TEST(Dialect, HeadersThatTheHostSharesHaveTheirNames) {
  const char* source = R"(
#include <simd/simd.h>
struct Shared { vector_float4 a; simd_float4x4 m; simd::uint2 n; };
kernel void k(device int* out) { out[0] = int(sizeof(Shared)); })";
  EXPECT_EQ(results<std::int32_t>(source, 1), Ints{96});
}

TEST(Dialect, VectorsOfHalvesAndBfloatsConvertToEachOther) {
  const char* source = R"(
#include <metal_stdlib>
using namespace metal;
kernel void k(device float* out) {
  const bfloat4 b = bfloat4(half4(1.5h, 2.0h, 3.0h, 4.0h));
  out[0] = float(half4(b).x) + float(b.w);
})";
  EXPECT_EQ(results<float>(source, 1), Floats{5.5F});
}

}  // namespace
}  // namespace anymps::metal
