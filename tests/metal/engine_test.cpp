#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "air_text.h"
#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"
#include "metal/select/engine_selection.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::kLoadOwn;
using testing::OwnedFunction;
using testing::unary;

// Runs "k" over `threads` in groups of `group` with these buffers, and returns the route it took.
abi::Route run_air(const AirText& air, std::vector<void*> buffers, std::uint32_t threads, std::uint32_t group,
                   const lower::LoweringOptions& options = {}) {
  const OwnedFunction function(air);
  const auto pipeline = engine::make_pipeline(function.entry, options);
  pipeline::Launch launch;
  std::copy(buffers.begin(), buffers.end(), launch.buffers.begin());
  pipeline->launch(launch, {threads, 1, 1}, {group, 1, 1});
  return pipeline->route();
}

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(Engine, APlainKernelIsALoopOverItsThreads) {
  std::vector<float> in = counting(1000);
  std::vector<float> out(1000, -1);
  EXPECT_EQ(run_air(unary("", "  %y = fadd float %x, 1.0\n"), {out.data(), in.data()}, 1000, 256),
            abi::Route::kThreadLoop);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(out[i], in[i] + 1) << i;
}

TEST(Engine, ThreadsBeyondTheGridDoNotRun) {
  std::vector<float> in = counting(300);
  std::vector<float> out(300, -1);
  run_air(unary("", "  %y = fadd float %x, 1.0\n"), {out.data(), in.data()}, 259, 256);
  EXPECT_EQ(out[258], 259);
  EXPECT_EQ(out[259], -1);
}

// Threads that cannot tell how they are grouped may be grouped otherwise; those that can must not be.
TEST(Engine, ThreadgroupsAreAsDispatchedWhereAKernelCanTell) {
  const AirText air =
      AirText().buffers(1).builtin("thread_position_in_grid").builtin("threadgroup_position_in_grid").body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i
  store i32 %threadgroup_position_in_grid, ptr addrspace(1) %to, align 4
  ret void
)");
  std::vector<std::uint32_t> out(10000);
  run_air(air, {out.data()}, 10000, 10);
  for (std::uint32_t i = 0; i < 10000; ++i) ASSERT_EQ(out[i], i / 10);
}

TEST(Engine, EveryThreadOfAWideGridRunsOnce) {
  const AirText air = AirText().buffers(1).builtin("thread_position_in_grid").body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i
  %n = load i32, ptr addrspace(1) %to, align 4
  %m = add i32 %n, 1
  store i32 %m, ptr addrspace(1) %to, align 4
  ret void
)");
  std::vector<std::uint32_t> out(100001, 0);
  run_air(air, {out.data()}, 100000, 10);
  for (std::uint32_t i = 0; i < 100000; ++i) ASSERT_EQ(out[i], 1U) << i;
  EXPECT_EQ(out[100000], 0U);
}

TEST(Engine, APlainKernelAsCoroutinesIsTheSame) {
  std::vector<float> in = counting(777);
  std::vector<float> loop(777);
  std::vector<float> coroutines(777);
  const AirText air = unary("declare float @air.sin.f32(float)", "  %y = call float @air.sin.f32(float %x)\n");
  run_air(air, {loop.data(), in.data()}, 777, 128);
  EXPECT_EQ(run_air(air, {coroutines.data(), in.data()}, 777, 128, {.constants = {}, .force_coroutines = true}),
            abi::Route::kCoroutines);
  EXPECT_EQ(loop, coroutines);
}

TEST(Engine, PositionsAndIndices) {
  const std::pair<const char*, std::uint32_t (*)(std::uint32_t)> builtins[] = {
      {"thread_position_in_threadgroup", [](std::uint32_t i) { return i % 64; }},
      {"threadgroup_position_in_grid", [](std::uint32_t i) { return i / 64; }},
      {"threads_per_grid", [](std::uint32_t) { return 100U; }},
      {"threadgroups_per_grid", [](std::uint32_t) { return 2U; }},
      {"threads_per_threadgroup", [](std::uint32_t i) { return i < 64 ? 64U : 36U; }},
      {"dispatch_threads_per_threadgroup", [](std::uint32_t) { return 64U; }},
      {"thread_index_in_threadgroup", [](std::uint32_t i) { return i % 64; }},
      {"thread_index_in_simdgroup", [](std::uint32_t i) { return i % 32; }},
      {"simdgroup_index_in_threadgroup", [](std::uint32_t i) { return i % 64 / 32; }},
      {"threads_per_simdgroup", [](std::uint32_t) { return 32U; }},
      {"simdgroups_per_threadgroup", [](std::uint32_t) { return 2U; }},
      {"quadgroups_per_threadgroup", [](std::uint32_t i) { return i < 64 ? 16U : 9U; }},
      {"dispatch_simdgroups_per_threadgroup", [](std::uint32_t) { return 2U; }},
      {"dispatch_quadgroups_per_threadgroup", [](std::uint32_t) { return 16U; }},
      {"thread_index_in_quadgroup", [](std::uint32_t i) { return i % 4; }},
      {"quadgroup_index_in_threadgroup", [](std::uint32_t i) { return i % 64 / 4; }},
  };
  for (const auto& [name, expected] : builtins) {
    for (const bool coroutines : {false, true}) {
      std::vector<std::uint32_t> out(100, 12345);
      run_air(AirText()
                  .buffers(1)
                  .builtin("thread_position_in_grid")
                  .builtin(name)
                  .body("  %i = zext i32 %thread_position_in_grid to i64\n"
                        "  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
                        "  store i32 %" +
                        std::string(name) + ", ptr addrspace(1) %to, align 4\n  ret void\n"),
              {out.data()}, 100, 64, {.constants = {}, .force_coroutines = coroutines});
      for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(out[i], expected(i)) << name << " " << i;
    }
  }
}

// Reverses each threadgroup through its memory.
TEST(Engine, ABarrierComesBetweenWritingAndReading) {
  const AirText air = AirText()
                          .buffers(2)
                          .builtin("thread_position_in_grid")
                          .builtin("thread_position_in_threadgroup")
                          .builtin("threads_per_threadgroup")
                          .outside(
                              "@shared = internal addrspace(3) global [256 x float] undef, align 4\n"
                              "declare void @air.wg.barrier(i32, i32)")
                          .body(std::string(kLoadOwn) + R"(
  %l = zext i32 %thread_position_in_threadgroup to i64
  %place = getelementptr [256 x float], ptr addrspace(3) @shared, i64 0, i64 %l
  store float %x, ptr addrspace(3) %place, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %last = sub i32 %threads_per_threadgroup, 1
  %mirror = sub i32 %last, %thread_position_in_threadgroup
  %m = zext i32 %mirror to i64
  %there = getelementptr [256 x float], ptr addrspace(3) @shared, i64 0, i64 %m
  %y = load float, ptr addrspace(3) %there, align 4
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)");
  std::vector<float> in = counting(600);
  std::vector<float> out(600);
  EXPECT_EQ(run_air(air, {out.data(), in.data()}, 600, 256), abi::Route::kCoroutines);
  for (std::size_t i = 0; i < 600; ++i) {
    const std::size_t first = i / 256 * 256;
    const std::size_t size = std::min<std::size_t>(256, 600 - first);
    ASSERT_EQ(out[i], in[first + size - 1 - (i - first)]) << i;
  }
}

TEST(Engine, ThreadgroupMemoryThatStartsAsZeroDoesSoForEachGroup) {
  const AirText air = AirText()
                          .buffers(1)
                          .builtin("thread_position_in_grid")
                          .outside(
                              "@sum = internal addrspace(3) global i32 0, align 4\n"
                              "declare void @air.wg.barrier(i32, i32)\n"
                              "declare i32 @air.atomic.local.add.u.i32(ptr addrspace(3), i32, i32, i32, i1)")
                          .body(R"(
  %old = call i32 @air.atomic.local.add.u.i32(ptr addrspace(3) @sum, i32 1, i32 0, i32 1, i1 true)
  call void @air.wg.barrier(i32 2, i32 1)
  %y = load i32, ptr addrspace(3) @sum, align 4
  %i = zext i32 %thread_position_in_grid to i64
  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i
  store i32 %y, ptr addrspace(1) %to, align 4
  ret void
)");
  std::vector<std::uint32_t> out(320);
  run_air(air, {out.data()}, 320, 64);
  for (const std::uint32_t count : out) ASSERT_EQ(count, 64U);
}

// `lanes` of `in` are what a simdgroup gives; the answer is what each lane gets.
std::vector<float> simdgroup(const std::string& function, const std::string& operands, const std::vector<float>& in) {
  std::vector<float> given = in;
  std::vector<float> out(in.size());
  const std::string declared = operands.empty() ? "float" : "float, i16";
  run_air(unary("declare float @" + function + "(" + declared + ")",
                "  %y = call float @" + function + "(float %x" + operands + ")\n"),
          {out.data(), given.data()}, static_cast<std::uint32_t>(in.size()), 32);
  return out;
}

TEST(Engine, SimdgroupArithmetic) {
  const std::vector<float> in = counting(32);
  EXPECT_EQ(simdgroup("air.simd_sum.f32", "", in), std::vector<float>(32, 496));
  EXPECT_EQ(simdgroup("air.simd_max.f32", "", in), std::vector<float>(32, 31));
  EXPECT_EQ(simdgroup("air.simd_min.f32", "", in), std::vector<float>(32, 0));
  const std::vector<float> inclusive = simdgroup("air.simd_prefix_inclusive_sum.f32", "", in);
  const std::vector<float> exclusive = simdgroup("air.simd_prefix_exclusive_sum.f32", "", in);
  const std::vector<float> quads = simdgroup("air.quad_sum.f32", "", in);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(inclusive[i], static_cast<float>(i * (i + 1) / 2)) << i;
    EXPECT_EQ(exclusive[i], static_cast<float>(i * (i + 1) / 2 - i)) << i;
    EXPECT_EQ(quads[i], static_cast<float>(16 * (i / 4) + 6)) << i;
  }
}

TEST(Engine, SimdgroupsOfFewerLanesCombineThoseAlone) {
  const std::vector<float> out = simdgroup("air.simd_sum.f32", "", counting(40));
  EXPECT_EQ(out[0], 496);
  EXPECT_EQ(out[39], 32 + 33 + 34 + 35 + 36 + 37 + 38 + 39);
}

TEST(Engine, Shuffles) {
  const std::vector<float> in = counting(32);
  const auto expect = [&](const char* function, const char* operand, auto lane_of) {
    const std::vector<float> out = simdgroup(function, operand, in);
    for (int i = 0; i < 32; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], lane_of(i)) << function << " " << i;
  };
  expect("air.simd_shuffle.f32", ", i16 5", [](int) { return 5; });
  expect("air.simd_broadcast.f32", ", i16 9", [](int) { return 9; });
  expect("air.simd_shuffle_xor.f32", ", i16 1", [](int i) { return i ^ 1; });
  expect("air.simd_shuffle_down.f32", ", i16 3", [](int i) { return i + 3 < 32 ? i + 3 : i; });
  expect("air.simd_shuffle_up.f32", ", i16 3", [](int i) { return i >= 3 ? i - 3 : i; });
  expect("air.simd_shuffle_rotate_down.f32", ", i16 3", [](int i) { return (i + 3) % 32; });
  expect("air.simd_shuffle_rotate_up.f32", ", i16 3", [](int i) { return (i + 29) % 32; });
  expect("air.quad_shuffle_xor.f32", ", i16 2", [](int i) { return i ^ 2; });
  expect("air.quad_broadcast.f32", ", i16 1", [](int i) { return i / 4 * 4 + 1; });
}

// if (lane < 5) y = simd_sum(x): the lanes that are there add up, the others go by.
TEST(Engine, AnOperationInABranchIsOfTheLanesThatTookIt) {
  const AirText air = AirText()
                          .buffers(2)
                          .builtin("thread_position_in_grid")
                          .outside("declare float @air.simd_sum.f32(float)")
                          .body(std::string(kLoadOwn) + R"(
  store float -1.0, ptr addrspace(1) %to, align 4
  %few = icmp ult i32 %thread_position_in_grid, 5
  br i1 %few, label %then, label %end
then:
  %y = call float @air.simd_sum.f32(float %x)
  store float %y, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
)");
  std::vector<float> in = counting(32);
  std::vector<float> out(32);
  run_air(air, {out.data(), in.data()}, 32, 32);
  EXPECT_EQ(out[4], 10);
  EXPECT_EQ(out[5], -1);
}

// Lanes 3 to 20 of 40 threads vote, those with an odd number yes.
std::vector<std::uint64_t> votes_of(const std::string& declaration, const std::string& compute) {
  const AirText air = AirText().buffers(1).builtin("thread_position_in_grid").outside(declaration).body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %to = getelementptr i64, ptr addrspace(1) %b0, i64 %i
  %few = sub i32 %thread_position_in_grid, 3
  %votes = icmp ult i32 %few, 18
  br i1 %votes, label %then, label %end
then:
  %odd = trunc i32 %thread_position_in_grid to i1
)" + compute + R"(
  store i64 %y, ptr addrspace(1) %to, align 8
  br label %end
end:
  ret void
)");
  std::vector<std::uint64_t> out(40, 777);
  EXPECT_EQ(run_air(air, {out.data()}, 40, 40), abi::Route::kCoroutines);
  EXPECT_EQ(out[2], 777U);
  EXPECT_EQ(out[21], 777U);
  return out;
}

TEST(Engine, VotesAreOfTheActiveLanes) {
  constexpr std::uint64_t kActive = 0x1FFFF8;
  const auto ballot =
      votes_of("declare i64 @air.simd_ballot.i64(i1)", "  %y = call i64 @air.simd_ballot.i64(i1 %odd)\n");
  EXPECT_EQ(ballot[3], kActive & 0xAAAAAAAA);
  EXPECT_EQ(ballot[20], kActive & 0xAAAAAAAA);
  const auto active = votes_of("declare i64 @air.simd_active_threads_mask.i64()",
                               "  %y = call i64 @air.simd_active_threads_mask.i64()\n");
  EXPECT_EQ(active[7], kActive);
  const auto quad = votes_of("declare i16 @air.quad_ballot(i1)",
                             "  %b = call i16 @air.quad_ballot(i1 %odd)\n  %y = zext i16 %b to i64\n");
  EXPECT_EQ(quad[3], 8U);
  EXPECT_EQ(quad[4], 10U);
  EXPECT_EQ(quad[20], 0U);
  const auto in_quad = votes_of("declare i16 @air.quad_active_threads_mask()",
                                "  %b = call i16 @air.quad_active_threads_mask()\n  %y = zext i16 %b to i64\n");
  EXPECT_EQ(in_quad[3], 8U);
  EXPECT_EQ(in_quad[4], 15U);
  EXPECT_EQ(in_quad[20], 1U);
}

TEST(Engine, AnyAllAndFirstAreOfTheActiveLanes) {
  const auto truth = [](const std::string& name, const std::string& operand) {
    const std::string types = operand.empty() ? "" : "i1";
    return votes_of("declare i1 @air." + name + "(" + types + ")",
                    "  %b = call i1 @air." + name + "(" + operand + ")\n  %y = zext i1 %b to i64\n");
  };
  EXPECT_EQ(truth("simd_any", "i1 %odd")[4], 1U);
  EXPECT_EQ(truth("simd_any", "i1 false")[4], 0U);
  EXPECT_EQ(truth("simd_all", "i1 %odd")[4], 0U);
  EXPECT_EQ(truth("simd_all", "i1 true")[4], 1U);
  const auto quad_all = truth("quad_all", "i1 %odd");
  EXPECT_EQ(quad_all[3], 1U);  // alone in its quad
  EXPECT_EQ(quad_all[5], 0U);
  EXPECT_EQ(truth("quad_any", "i1 %odd")[20], 0U);
  const auto first = truth("simd_is_first", "");
  EXPECT_EQ(first[3], 1U);
  EXPECT_EQ(first[4], 0U);
  const auto first_of_quad = truth("quad_is_first", "");
  EXPECT_EQ(first_of_quad[3], 1U);
  EXPECT_EQ(first_of_quad[4], 1U);
  EXPECT_EQ(first_of_quad[5], 0U);
  EXPECT_EQ(truth("simd_is_helper_thread", "")[5], 0U);
}

TEST(Engine, TheFirstActiveLaneBroadcasts) {
  const auto call = [](const std::string& name) {
    return votes_of(
        "declare i32 @air." + name + ".u.i32(i32)",
        "  %b = call i32 @air." + name + ".u.i32(i32 %thread_position_in_grid)\n  %y = zext i32 %b to i64\n");
  };
  EXPECT_EQ(call("simd_broadcast_first")[20], 3U);
  const auto quad = call("quad_broadcast_first");
  EXPECT_EQ(quad[3], 3U);
  EXPECT_EQ(quad[7], 4U);
}

TEST(Engine, AVectorIsCombinedByElement) {
  const auto sums = votes_of("declare <2 x i32> @air.simd_sum.u.v2i32(<2 x i32>)", R"(
  %p = insertelement <2 x i32> <i32 0, i32 1>, i32 %thread_position_in_grid, i32 0
  %s = call <2 x i32> @air.simd_sum.u.v2i32(<2 x i32> %p)
  %y = bitcast <2 x i32> %s to i64
)");
  EXPECT_EQ(sums[3], (std::uint64_t{18} << 32) + 207);
}

// The larger one of 64 bits has no result.
TEST(Engine, AtomicsOfSixtyFourBits) {
  const AirText air = AirText()
                          .buffers(1)
                          .builtin("thread_position_in_grid")
                          .outside(
                              "declare void @air.atomic.global.max.u.i64(ptr addrspace(1), i64, i32, i32, i1)\n"
                              "declare void @air.atomic.global.min.u.i64(ptr addrspace(1), i64, i32, i32, i1)")
                          .body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %x = mul i64 %i, 10000000000
  %low = getelementptr i64, ptr addrspace(1) %b0, i64 1
  call void @air.atomic.global.max.u.i64(ptr addrspace(1) %b0, i64 %x, i32 0, i32 2, i1 true)
  call void @air.atomic.global.min.u.i64(ptr addrspace(1) %low, i64 %x, i32 0, i32 2, i1 true)
  ret void
)");
  std::vector<std::uint64_t> out = {5, ~std::uint64_t{0}};
  run_air(air, {out.data()}, 20000, 256);
  EXPECT_EQ(out[0], 199990000000000U);
  EXPECT_EQ(out[1], 0U);
}

// c = a * b + c, with matrices loaded and stored by the simdgroup.
TEST(Engine, MatricesOfEightByEight) {
  const std::string m = "<64 x float>";
  const std::string load = "@air.simdgroup_matrix_8x8_load.v64f32.p1f32";
  const std::string place = "<2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer";
  const AirText air =
      AirText()
          .buffers(3)
          .outside("declare " + m + " " + load + "(ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)\n" +
                   "declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(" + m +
                   ", ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)\n" + "declare " + m +
                   " @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(" + m + ", " + m + ", " +
                   m + ")")
          .body("  %a = call " + m + " " + load + "(ptr addrspace(1) %b0, " + place + ")\n" + "  %b = call " + m + " " +
                load + "(ptr addrspace(1) %b1, " + place + ")\n" + "  %c = call " + m + " " + load +
                "(ptr addrspace(1) %b2, " + place + ")\n" + "  %d = call " + m +
                " @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(" + m + " %a, " + m +
                " %b, " + m + " %c)\n" + "  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(" + m +
                " %d, ptr addrspace(1) %b2, " + place + ")\n  ret void\n");
  std::vector<float> a(64);
  std::vector<float> b(64);
  std::vector<float> c(64);
  for (std::size_t i = 0; i < 64; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5) - 2;
    c[i] = static_cast<float>(i);
  }
  std::vector<float> expected = c;
  for (std::size_t r = 0; r < 8; ++r) {
    for (std::size_t k = 0; k < 8; ++k) {
      for (std::size_t j = 0; j < 8; ++j) expected[8 * r + j] += a[8 * r + k] * b[8 * k + j];
    }
  }
  run_air(air, {a.data(), b.data(), c.data()}, 32, 32);
  EXPECT_EQ(c, expected);
}

// The older form says how long rows are, where to begin, and whether to transpose; the newer one has a step for each
// direction. Either side of a copy is done in one of them.
TEST(Engine, OlderMatrixTransfersTransposeWhenAsked) {
  constexpr const char* kLoad = "@air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1)";
  constexpr const char* kStore = "@air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>";
  const std::string older = ", i64 9, <2 x i64> zeroinitializer, i1 ";
  const std::string newer = ", <2 x i64> <i64 9, i64 8>, <2 x i64> <i64 1, i64 9>, <2 x i64> zeroinitializer)\n";
  const std::string older_types = ", i64, <2 x i64>, i1)\n";
  const std::string newer_types = ", <2 x i64>, <2 x i64>, <2 x i64>)\n";
  const auto copy = [&](const std::string& load, const std::string& load_types, const std::string& store,
                        const std::string& store_types) {
    const AirText air = AirText()
                            .buffers(2)
                            .outside("declare <64 x float> " + std::string(kLoad) + load_types + "declare void " +
                                     kStore + ", ptr addrspace(1)" + store_types)
                            .body("  %m = call <64 x float> " + std::string(kLoad) + " %b0" + load + "  call void " +
                                  kStore + " %m, ptr addrspace(1) %b1" + store + "  ret void\n");
    std::vector<float> in = counting(72);
    std::vector<float> out(72);
    run_air(air, {in.data(), out.data()}, 32, 32);
    return out[9 * 2 + 7];
  };
  constexpr float kSame = 9 * 2 + 7;
  constexpr float kTransposed = 9 * 7 + 2;
  EXPECT_EQ(copy(older + "false)\n", older_types, newer, newer_types), kSame);
  EXPECT_EQ(copy(older + "true)\n", older_types, newer, newer_types), kTransposed);
  EXPECT_EQ(copy(newer, newer_types, older + "false)\n", older_types), kSame);
  EXPECT_EQ(copy(newer, newer_types, older + "true)\n", older_types), kTransposed);
}

TEST(Engine, VectorsLieAtAnyMultipleOfTheirElements) {
  const AirText air = AirText().buffers(2).builtin("thread_position_in_grid").body(R"(
  %from = getelementptr float, ptr addrspace(1) %b1, i64 1
  %to = getelementptr float, ptr addrspace(1) %b0, i64 3
  %x = load <4 x float>, ptr addrspace(1) %from, align 16
  store <4 x float> %x, ptr addrspace(1) %to, align 16
  ret void
)");
  alignas(16) std::array<float, 8> in = {0, 1, 2, 3, 4};
  alignas(16) std::array<float, 8> out = {};
  run_air(air, {out.data(), in.data()}, 1, 1);
  EXPECT_EQ(out, (std::array<float, 8>{0, 0, 0, 1, 2, 3, 4}));
}

TEST(Engine, FunctionConstantsAreWhatTheLaunchSays) {
  const AirText air = unary(
      "@scale.MTL_FC_INIT_3_f = internal addrspace(2) externally_initialized constant float undef, align 4\n"
      "!air.function_constants = !{!102}\n"
      "!102 = !{ptr addrspace(2) @scale.MTL_FC_INIT_3_f, !\"float\", !\"scale\", i32 3, i1 true}",
      "  %s = load float, ptr addrspace(2) @scale.MTL_FC_INIT_3_f, align 4\n  %y = fmul float %x, %s\n");
  std::vector<float> in = counting(10);
  std::vector<float> out(10);
  run_air(air, {out.data(), in.data()}, 10, 10, {.constants = {{3, std::bit_cast<std::uint32_t>(2.5F)}}});
  EXPECT_EQ(out[4], 10);
}

TEST(Engine, ConversionsSaturate) {
  const AirText air = AirText()
                          .buffers(2)
                          .builtin("thread_position_in_grid")
                          .outside("declare i8 @air.convert.s.i8.f.f32(float)")
                          .body(std::string(kLoadOwn) + R"(
  %c = call i8 @air.convert.s.i8.f.f32(float %x)
  %y = sitofp i8 %c to float
  store float %y, ptr addrspace(1) %to, align 4
  ret void
)");
  std::vector<float> in = {1000, -1000, 1.9F, -1.9F, std::nanf("")};
  std::vector<float> out(5);
  run_air(air, {out.data(), in.data()}, 5, 5);
  EXPECT_EQ(out, (std::vector<float>{127, -128, 1, -1, 0}));
}

TEST(Engine, DivisionsThatAreNotDefinedDoNotStopTheProcess) {
  std::vector<std::int32_t> divisors = {0, -1, 3};
  std::vector<std::int32_t> out(3, 5);
  run_air(AirText().buffers(2).builtin("thread_position_in_grid").body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %from = getelementptr i32, ptr addrspace(1) %b1, i64 %i
  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i
  %divisor = load i32, ptr addrspace(1) %from, align 4
  %quotient = sdiv i32 -2147483648, %divisor
  %rest = urem i32 7, %divisor
  %sum = add i32 %quotient, %rest
  store i32 %sum, ptr addrspace(1) %to, align 4
  ret void
)"),
          {out.data(), divisors.data()}, 3, 3);
  EXPECT_EQ(out[1], INT32_MIN + 7);
  EXPECT_EQ(out[2], INT32_MIN / 3 + 1);
}

TEST(Engine, DenormalsAreZeroToTheCLibraryToo) {
  const std::pair<const char*, float> functions[] = {
      {"  %y = call float @air.log2.f32(float %x)\n", -INFINITY},
      {"  %y = call float @air.fast_pow.f32(float %x, float -0.5)\n", INFINITY},
      {"  %y = call float @air.atan2.f32(float %x, float %x)\n", 0},
  };
  for (const auto& [compute, expected] : functions) {
    std::vector<float> in = {1e-40F};
    std::vector<float> out(1);
    run_air(unary("declare float @air.log2.f32(float)\ndeclare float @air.fast_pow.f32(float, float)\n"
                  "declare float @air.atan2.f32(float, float)",
                  compute)
                .without_denormals(),
            {out.data(), in.data()}, 1, 1);
    EXPECT_EQ(out[0], expected) << compute;
  }
}

// What equals zero may still have bits: LLVM must not leave them in an infinity of its sign.
TEST(Engine, ADenormalThatEqualsZeroIsNoZeroInItsBits) {
  std::vector<float> in = {-1e-40F};
  std::vector<float> out(1);
  run_air(unary("", R"(
  %is_negative = fcmp olt float %x, 0.0
  br i1 %is_negative, label %done, label %other
other:
  %is_zero = fcmp oeq float %x, 0.0
  br i1 %is_zero, label %zero, label %done
zero:
  %minus = fneg float %x
  %bits = bitcast float %minus to i32
  %sign = and i32 %bits, -2147483648
  %infinite = or i32 %sign, 2139095040
  %infinity = bitcast i32 %infinite to float
  br label %done
done:
  %y = phi float [ %infinity, %zero ], [ 1.0, %0 ], [ 2.0, %other ]
)")
              .without_denormals(),
          {out.data(), in.data()}, 1, 1);
  EXPECT_EQ(out[0], INFINITY);
}

TEST(Engine, SinpiIsZeroAtWholeNumbers) {
  std::vector<float> in = {1, -3, 1e7F, 0.5F, -1.5F, 2.25F};
  std::vector<float> out(6);
  run_air(unary("declare float @air.sinpi.f32(float)", "  %y = call float @air.sinpi.f32(float %x)\n"),
          {out.data(), in.data()}, 6, 6);
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0, 1, 1, std::sqrt(0.5F)}));
}

// Across a call that takes all registers: LLVM 19 compares the wrong way round with the instructions for halves.
TEST(Engine, ComparisonsOfHalves) {
  const AirText air = AirText()
                          .buffers(2)
                          .builtin("thread_position_in_grid")
                          .outside(
                              "declare half @air.sin.f16(half)\n"
                              "declare half @air.fabs.f16(half)")
                          .body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %from = getelementptr half, ptr addrspace(1) %b1, i64 %i
  %to = getelementptr half, ptr addrspace(1) %b0, i64 %i
  %x = load half, ptr addrspace(1) %from, align 2
  %size = call half @air.fabs.f16(half %x)
  %is_infinite = fcmp oeq half %size, 0xH7C00
  br i1 %is_infinite, label %done, label %finite
finite:
  %is_small = fcmp olt half %size, 0xH3800
  br i1 %is_small, label %small, label %large
small:
  %square = fmul half %x, %x
  %more = fadd half %square, 0xH3C00
  br label %done
large:
  %sine = call half @air.sin.f16(half %x)
  %quotient = fdiv half %sine, %x
  br label %done
done:
  %y = phi half [ 0xH0000, %0 ], [ %more, %small ], [ %quotient, %large ]
  store half %y, ptr addrspace(1) %to, align 2
  ret void
)");
  std::vector<std::uint16_t> in(64, 0);  // zero
  std::vector<std::uint16_t> out(64, 1);
  run_air(air, {out.data(), in.data()}, 64, 64);
  EXPECT_EQ(out, std::vector<std::uint16_t>(64, 0x3C00));
}

std::string pipeline_refusal(const AirText& air, const pipeline::Launch& launch = {},
                             pipeline::Size group = {32, 1, 1}) {
  const OwnedFunction function(air);
  try {
    engine::make_pipeline(function.entry, {})->launch(launch, {32, 1, 1}, group);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(Engine, BfloatsThatAreOnlyMovedKeepTheirBits) {
  // Into another block, where LLVM would hold them as floats.
  const AirText air = AirText().buffers(2).builtin("thread_position_in_grid").body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %from = getelementptr bfloat, ptr addrspace(1) %b1, i64 %i
  %to = getelementptr bfloat, ptr addrspace(1) %b0, i64 %i
  %x = load bfloat, ptr addrspace(1) %from, align 2
  %one = fcmp oeq bfloat %x, 0xR3F80
  br i1 %one, label %here, label %there
here:
  store volatile bfloat 0xR0000, ptr addrspace(1) %to, align 2
  br label %there
there:
  %y = phi bfloat [ %x, %0 ], [ 0xR4000, %here ]
  store bfloat %y, ptr addrspace(1) %to, align 2
  ret void
)");
  std::vector<std::uint16_t> in = {0x0001, 0x8001, 0x007F, 0x3F80, 0x7F81};
  std::vector<std::uint16_t> out(in.size());
  run_air(air, {out.data(), in.data()}, static_cast<std::uint32_t>(in.size()), 32);
  in[3] = 0x4000;
  EXPECT_EQ(out, in);
}

TEST(Engine, RefusesWhatItCannotDo) {
  EXPECT_EQ(pipeline_refusal(
                unary("declare float @air.mystery.f32(float)", "  %y = call float @air.mystery.f32(float %x)\n")),
            "k: it calls air.mystery.f32, which is not known here");
  EXPECT_EQ(pipeline_refusal(unary("declare float @air.simd_mystery.f32(float)",
                                   "  %y = call float @air.simd_mystery.f32(float %x)\n")),
            "k: no way to run air.simd_mystery.f32");
  const AirText fine = unary("", "  %y = fadd float %x, 1.0\n");
  EXPECT_EQ(pipeline_refusal(fine), "k: nothing is bound to argument 0 (float b0)");
  EXPECT_EQ(pipeline_refusal(fine, {}, {2000, 1, 1}), "k: a threadgroup of 2000 threads; it takes 1 to 1024");
  EXPECT_EQ(pipeline_refusal(fine, {}, {1U << 22, 1U << 21, 1U << 21}),
            "k: a threadgroup of 4194304 x 2097152 x 2097152 threads; it takes 1 to 1024");
}

// A first exchange leaves every lane's value behind; in the second, of five lanes, the others are read as zero.
TEST(Engine, LanesThatAreNotThereAreReadAsZero) {
  const AirText air = AirText()
                          .buffers(2)
                          .builtin("thread_position_in_grid")
                          .outside("declare float @air.simd_shuffle_xor.f32(float, i16)")
                          .body(std::string(kLoadOwn) + R"(
  %all = call float @air.simd_shuffle_xor.f32(float %x, i16 4)
  store float %all, ptr addrspace(1) %to, align 4
  %few = icmp ult i32 %thread_position_in_grid, 5
  br i1 %few, label %then, label %end
then:
  %y = call float @air.simd_shuffle_xor.f32(float %x, i16 4)
  store float %y, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
)");
  std::vector<float> in = counting(32);
  std::vector<float> out(32);
  run_air(air, {out.data(), in.data()}, 32, 32);
  EXPECT_EQ(std::vector(out.begin(), out.begin() + 6), (std::vector<float>{4, 0, 0, 0, 0, 1}));
}

TEST(Engine, WhatAKernelAsksForMayBeMissing) {
  const AirText air = AirText().buffers(2).builtin("thread_position_in_grid").body(R"(
  %missing = icmp eq ptr addrspace(1) %b1, null
  br i1 %missing, label %without, label %with
with:
  %x = load float, ptr addrspace(1) %b1, align 4
  store float %x, ptr addrspace(1) %b0, align 4
  ret void
without:
  store float -1.0, ptr addrspace(1) %b0, align 4
  ret void
)");
  float out = 0;
  float in = 5;
  run_air(air, {&out, nullptr}, 1, 1);
  EXPECT_EQ(out, -1);
  run_air(air, {&out, &in}, 1, 1);
  EXPECT_EQ(out, 5);
}

TEST(Engine, ThreadgroupArgumentsNeedALength) {
  const AirText air = AirText().buffers(1).threadgroup_buffer().body(R"(
  store float 3.0, ptr addrspace(3) %t, align 4
  %x = load float, ptr addrspace(3) %t, align 4
  store float %x, ptr addrspace(1) %b0, align 4
  ret void
)");
  const OwnedFunction function(air);
  const auto pipeline = engine::make_pipeline(function.entry, {});
  float out = 0;
  pipeline::Launch launch;
  launch.buffers[0] = &out;
  EXPECT_EQ(pipeline_refusal(air, launch), "k: no length is set for threadgroup argument 0 (float t)");
  launch.threadgroup_bytes[0] = 16;
  pipeline->launch(launch, {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(out, 3);
}

TEST(CompiledKernel, GoesThroughBytesAndBack) {
  const OwnedFunction function(
      unary("declare float @air.simd_sum.f32(float)", "  %y = call float @air.simd_sum.f32(float %x)\n"));
  const runtime::CompiledKernel kernel = engine::compile_kernel(function.bytes, "k", {});
  const std::vector<std::byte> bytes = engine::pack(kernel);
  const auto back = engine::unpack(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->object, kernel.object);
  ASSERT_EQ(back->points.size(), 1U);
  EXPECT_EQ(back->points[0].op, abi::CooperativeOp::kSum);
  for (std::size_t size = 0; size < 40; ++size) {
    EXPECT_FALSE(engine::unpack(std::span(bytes).first(size))) << size;
  }
}

}  // namespace
}  // namespace anymps::metal
