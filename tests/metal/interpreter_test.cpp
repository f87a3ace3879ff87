// Two engines that share no code, launch by launch: what they agree about is right or wrong for one reason less.
#include "metal/interpret/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "air_text.h"
#include "gpu/support/float16.h"
#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/select/engine_selection.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}
template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Bytes launch(pipeline::Pipeline& pipeline, std::vector<Bytes> buffers, pipeline::Size threads, pipeline::Size group) {
  pipeline::Launch launch;
  for (std::size_t i = 0; i < buffers.size(); ++i) launch.buffers[i] = buffers[i].data();
  pipeline.launch(launch, threads, group);
  return buffers[0];
}

Bytes interpreted(const AirText& air, const std::vector<Bytes>& buffers, pipeline::Size threads, pipeline::Size group,
                  const abi::ConstantValues& constants = {}) {
  const OwnedFunction function(air);
  return launch(*interpret::make_interpreter(function.entry, constants), buffers, threads, group);
}
// One thread after the other; a failure where many lanes at once leave something else.
Bytes compiled(const AirText& air, const std::vector<Bytes>& buffers, pipeline::Size threads, pipeline::Size group,
               const abi::ConstantValues& constants = {}) {
  const OwnedFunction function(air);
  const Bytes one = launch(*engine::make_pipeline(function.entry, {.constants = constants}), buffers, threads, group);
  const auto simd = engine::make_pipeline(function.entry,
                                          {.constants = constants, .simdgroups = lower::vectorize::Simdgroups::kWhole});
  EXPECT_EQ(launch(*simd, buffers, threads, group), one) << "as " << abi::name_of(simd->route());
  return one;
}

// What both engines leave in buffer 0; a failure where they differ.
template <typename T>
std::vector<T> both(const AirText& air, const std::vector<Bytes>& buffers, pipeline::Size threads, pipeline::Size group,
                    const std::string& what = "") {
  const Bytes one = interpreted(air, buffers, threads, group);
  EXPECT_EQ(values_of<T>(one), values_of<T>(compiled(air, buffers, threads, group))) << what;
  return values_of<T>(one);
}

// --- Simdgroup and quad functions, for every type that they take.

struct Type {
  std::string llvm;
  std::string suffix;
  unsigned bytes;  // of an element
  unsigned count = 1;
  bool real = false;
};

std::vector<Type> types() {
  return {{"float", "f32", 4, 1, true},
          {"half", "f16", 2, 1, true},
          {"bfloat", "bf16", 2, 1, true},
          {"i8", "s.i8", 1},
          {"i8", "u.i8", 1},
          {"i16", "s.i16", 2},
          {"i16", "u.i16", 2},
          {"i32", "s.i32", 4},
          {"i32", "u.i32", 4},
          {"<2 x float>", "v2f32", 4, 2, true},
          {"<3 x float>", "v3f32", 4, 3, true},
          {"<4 x float>", "v4f32", 4, 4, true},
          {"<4 x half>", "v4f16", 2, 4, true},
          {"<2 x i32>", "s.v2i32", 4, 2},
          {"<4 x i8>", "u.v4i8", 1, 4}};
}

struct Call {
  std::string operation;
  std::string more_types;
  std::string more;
};

// For the threads whose flag in b2 is set: call number c of x goes to place c * threads + i of b0. A place is four
// elements wide.
AirText calls_of(const std::vector<Call>& calls, const Type& type, unsigned threads) {
  const std::string place = "[4 x i" + std::to_string(8 * type.bytes) + "]";
  const std::string align = ", align " + std::to_string(type.bytes);
  std::string outside;
  std::string body =
      "  %i = zext i32 %thread_position_in_grid to i64\n  %from = getelementptr " + place +
      ", ptr addrspace(1) %b1, i64 %i\n  %where = getelementptr i32, ptr addrspace(1) %b2, i64 %i\n"
      "  %flag = load i32, ptr addrspace(1) %where, align 4\n  %on = icmp ne i32 %flag, 0\n  %x = load " +
      type.llvm + ", ptr addrspace(1) %from" + align + "\n  br i1 %on, label %then, label %done\nthen:\n";
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::string n = std::to_string(c);
    const std::string declaration = type.llvm + " @air." + calls[c].operation + "." + type.suffix + "(" + type.llvm;
    const std::string declared = "declare " + declaration + calls[c].more_types + ")\n";
    if (outside.find(declared) == std::string::npos) outside += declared;
    body += "  %y" + n + " = call " + declaration + " %x" + calls[c].more + ")\n  %place" + n + " = add i64 %i, " +
            std::to_string(c * threads) + "\n  %to" + n + " = getelementptr " + place +
            ", ptr addrspace(1) %b0, i64 %place" + n + "\n  store " + type.llvm + " %y" + n + ", ptr addrspace(1) %to" +
            n + align + "\n";
  }
  return AirText()
      .buffers(3)
      .builtin("thread_position_in_grid")
      .outside(outside)
      .body(body + "  br label %done\ndone:\n  ret void\n");
}

void put_real(std::byte* to, const Type& type, float value) {
  const auto half = static_cast<gpu::support::float16>(value);
  const std::byte* bytes = reinterpret_cast<const std::byte*>(&value);
  if (type.bytes == 2 && type.llvm.find("bfloat") == std::string::npos) {
    bytes = reinterpret_cast<const std::byte*>(&half);
  } else if (type.bytes == 2) {
    bytes += 2;  // a bfloat is the upper half of a float
  }
  std::memcpy(to, bytes, type.bytes);
}

// Reals whose sums and products are exact in any order, integers of any kind.
Bytes operands(const Type& type, unsigned threads) {
  Bytes bytes(std::size_t{4} * threads * type.bytes);
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < std::size_t{4} * threads; ++i) {
    random = random * 1664525 + 1013904223;
    std::byte* to = bytes.data() + i * type.bytes;
    constexpr float kSizes[] = {2, 1, 0.5F, 1};
    if (type.real) {
      put_real(to, type, (random >> 31 != 0 ? -1.0F : 1.0F) * kSizes[i / 4 % 4]);
    } else {
      for (unsigned b = 0; b < type.bytes; ++b) to[b] = static_cast<std::byte>(random >> (8 * b) ^ random >> 24);
    }
  }
  return bytes;
}

constexpr unsigned kThreads = 107;  // in threadgroups of 64: the last simdgroup has eleven
constexpr pipeline::Size kGrid = {kThreads, 1, 1};
constexpr pipeline::Size kGroup = {64, 1, 1};

std::vector<std::vector<std::uint32_t>> flag_patterns() {
  const std::function<bool(unsigned)> patterns[] = {
      [](unsigned) { return true; },
      [](unsigned i) { return i % 2 == 1; },
      [](unsigned i) { return i % 32 < 5; },
      [](unsigned i) { return i / 4 % 3 != 1 && (i * i + i / 3) % 5 != 0; },
  };
  std::vector<std::vector<std::uint32_t>> all;
  for (const auto& pattern : patterns) {
    std::vector<std::uint32_t>& flags = all.emplace_back(kThreads);
    for (unsigned i = 0; i < kThreads; ++i) flags[i] = pattern(i) ? 1 : 0;
  }
  return all;
}

std::vector<Call> reductions(const Type& type) {
  std::vector<Call> calls;
  for (const std::string group : {"simd_", "quad_"}) {
    for (const char* operation : {"sum", "product", "min", "max"}) calls.push_back({group + operation, "", ""});
    for (const char* operation : {"and", "or", "xor"}) {
      if (!type.real) calls.push_back({group + operation, "", ""});
    }
    for (const char* form : {"prefix_inclusive_", "prefix_exclusive_"}) {
      calls.push_back({group + form + "sum", "", ""});
      calls.push_back({group + form + "product", "", ""});
    }
  }
  return calls;
}

TEST(Interpreter, ReductionsAgreeForEveryTypeAndAnyActiveLanes) {
  for (const Type& type : types()) {
    const std::vector<Call> calls = reductions(type);
    const AirText air = calls_of(calls, type, kThreads);
    const Bytes out(calls.size() * kThreads * 4 * type.bytes, std::byte{0x77});
    for (const auto& flags : flag_patterns()) {
      both<std::uint8_t>(air, {out, operands(type, kThreads), bytes_of(flags)}, kGrid, kGroup, type.suffix);
    }
  }
}

struct Shuffle {
  std::string operation;
  int (*source)(int lane, int by, int width);  // within the group; negative: the lane's own
};

int lane_itself(int, int by, int) { return by; }
constexpr auto kNobody = -1;

const Shuffle kShuffles[] = {
    {"shuffle", lane_itself},
    {"broadcast", lane_itself},
    {"shuffle_xor", [](int lane, int by, int) { return lane ^ by; }},
    {"shuffle_up", [](int lane, int by, int) { return lane >= by ? lane - by : kNobody; }},
    {"shuffle_down", [](int lane, int by, int width) { return lane + by < width ? lane + by : kNobody; }},
    {"shuffle_rotate_up", [](int lane, int by, int width) { return (lane - by + width) % width; }},
    {"shuffle_rotate_down", [](int lane, int by, int width) { return (lane + by) % width; }},
};

// Whose value each lane gets: both engines against the specification's words. A lane that is not active gives nothing
// that is defined.
TEST(Interpreter, ShufflesTakeTheValueOfTheLaneThatTheSpecificationNames) {
  for (const Type& type : types()) {
    struct Case {
      const Shuffle* shuffle;
      int by;
      int width;
    };
    std::vector<Case> cases;
    std::vector<Call> calls;
    for (const Shuffle& shuffle : kShuffles) {
      for (const int by : {0, 1, 3, 4, 13, 31}) {
        for (const int width : {32, 4}) {
          if (by >= width) continue;
          cases.push_back({&shuffle, by, width});
          calls.push_back(
              {(width == 4 ? "quad_" : "simd_") + shuffle.operation, ", i16", ", i16 " + std::to_string(by)});
        }
      }
    }
    const AirText air = calls_of(calls, type, kThreads);
    const Bytes in = operands(type, kThreads);
    const std::size_t place = std::size_t{4} * type.bytes;
    const Bytes untouched(calls.size() * kThreads * place, std::byte{0x77});
    for (const auto& flags : flag_patterns()) {
      const std::vector<Bytes> buffers = {untouched, in, bytes_of(flags)};
      for (const auto& [engine, out] : {std::pair("interpreter", interpreted(air, buffers, kGrid, kGroup)),
                                        std::pair("oracle", compiled(air, buffers, kGrid, kGroup))}) {
        for (std::size_t c = 0; c < cases.size(); ++c) {
          for (int i = 0; i < static_cast<int>(kThreads); ++i) {
            const auto& [shuffle, by, width] = cases[c];
            int source = shuffle->source(i % width, by, width);
            source = source == kNobody ? i : i / width * width + source;
            if (flags[i] == 0 || source >= static_cast<int>(kThreads) || flags[source] == 0) continue;
            const std::byte* given = in.data() + source * place;
            const std::byte* taken = out.data() + (c * kThreads + i) * place;
            ASSERT_EQ(std::memcmp(given, taken, type.bytes * type.count), 0)
                << engine << " " << calls[c].operation << " by " << by << " of " << type.suffix << ", thread " << i;
          }
        }
      }
    }
  }
}

// What moves in comes from the other end of the filling, run by run.
TEST(Interpreter, ShufflesAndFills) {
  for (const Type& type : types()) {
    for (const int run : {32, 16, 4}) {
      for (const bool up : {true, false}) {
        const int by = 3;
        const std::string operation = std::string("simd_shuffle_and_fill_") + (up ? "up" : "down");
        // The filling is x of the same thread in every case but for the sign of what is shuffled.
        const AirText air =
            AirText()
                .buffers(3)
                .builtin("thread_position_in_grid")
                .outside("declare " + type.llvm + " @air." + operation + "." + type.suffix + "(" + type.llvm + ", " +
                         type.llvm + ", i16, i16)")
                .body([&] {
                  const std::string place = "[4 x i" + std::to_string(8 * type.bytes) + "]";
                  const std::string align = ", align " + std::to_string(type.bytes) + "\n";
                  std::string text = "  %i = zext i32 %thread_position_in_grid to i64\n";
                  for (const char* n : {"0", "1", "2"}) {
                    text += std::string("  %p") + n + " = getelementptr " + place + ", ptr addrspace(1) %b" + n +
                            ", i64 %i\n";
                  }
                  text += "  %x = load " + type.llvm + ", ptr addrspace(1) %p1" + align;
                  text += "  %f = load " + type.llvm + ", ptr addrspace(1) %p2" + align;
                  text += "  %y = call " + type.llvm + " @air." + operation + "." + type.suffix + "(" + type.llvm +
                          " %x, " + type.llvm + " %f, i16 " + std::to_string(by) + ", i16 " + std::to_string(run) +
                          ")\n";
                  return text + "  store " + type.llvm + " %y, ptr addrspace(1) %p0" + align + "  ret void\n";
                }());
        const Bytes data = operands(type, 96);
        Bytes filling = operands(type, 128);
        filling.erase(filling.begin(), filling.begin() + 32 * 4 * type.bytes);
        const std::vector<Bytes> buffers = {Bytes(data.size()), data, filling};
        for (const auto& [engine, out] : {std::pair("interpreter", interpreted(air, buffers, {96, 1, 1}, {64, 1, 1})),
                                          std::pair("oracle", compiled(air, buffers, {96, 1, 1}, {64, 1, 1}))}) {
          for (int i = 0; i < 96; ++i) {
            const int place = i % run + (up ? -by : by);
            const bool filled = place < 0 || place >= run;
            const std::byte* given =
                (filled ? filling : data).data() + (i / run * run + (place + run) % run) * 4 * type.bytes;
            ASSERT_EQ(std::memcmp(given, out.data() + i * 4 * type.bytes, type.bytes * type.count), 0)
                << engine << " " << operation << " of " << type.suffix << " in runs of " << run << ", thread " << i;
          }
        }
      }
    }
  }
}

// --- Control flow.

// A kernel over uints: b1[i] is %x, and what the body calls %y goes to b0[i] in block "end".
AirText over_uints(const std::string& body, const std::string& outside = "") {
  return AirText()
      .buffers(2)
      .builtin("thread_position_in_grid")
      .builtin("thread_index_in_simdgroup")
      .builtin("thread_index_in_threadgroup")
      .outside(
          "declare i32 @air.simd_sum.u.i32(i32)\ndeclare i1 @air.simd_any(i1)\ndeclare i1 @air.simd_all(i1)\n"
          "declare i1 @air.quad_any(i1)\ndeclare i1 @air.quad_all(i1)\ndeclare void @air.wg.barrier(i32, i32)\n" +
          outside)
      .body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %from = getelementptr i32, ptr addrspace(1) %b1, i64 %i
  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i
  %x = load i32, ptr addrspace(1) %from, align 4
)" + body + R"(
end:
  store i32 %y, ptr addrspace(1) %to, align 4
  ret void
)");
}

std::vector<std::uint32_t> scattered(std::size_t count, std::uint32_t below) {
  std::vector<std::uint32_t> values(count);
  std::uint32_t random = 7;
  for (std::uint32_t& value : values) {
    random = random * 1664525 + 1013904223;
    value = (random >> 16) % below;
  }
  return values;
}

std::vector<std::uint32_t> run_both(const AirText& air, const std::vector<std::uint32_t>& in,
                                    pipeline::Size group = kGroup) {
  const std::vector<std::uint32_t> out(in.size(), 0x77777777);
  return both<std::uint32_t>(air, {bytes_of(out), bytes_of(in)}, {static_cast<std::uint32_t>(in.size()), 1, 1}, group);
}

// The sum of `term` over the lanes of i's simdgroup.
template <typename Term>
std::uint32_t over_simdgroup(std::size_t i, Term term) {
  const std::size_t first = i / 32 * 32;
  std::uint32_t sum = 0;
  for (std::size_t j = first; j < std::min<std::size_t>(first + 32, kThreads); ++j) sum += term(j);
  return sum;
}

TEST(Interpreter, OnlyTheLanesOfABranchTakePart) {
  const auto in = scattered(kThreads, 100);
  const auto out = run_both(over_uints(R"(
  %c = icmp ult i32 %x, 40
  br i1 %c, label %few, label %many
few:
  %a = call i32 @air.simd_sum.u.i32(i32 1)
  br label %end.
many:
  %b = call i32 @air.simd_sum.u.i32(i32 1000)
  br label %end.
end.:
  %p = phi i32 [ %a, %few ], [ %b, %many ]
  %all = call i32 @air.simd_sum.u.i32(i32 1000000)
  %y = add i32 %p, %all
  br label %end
)"),
                            in);
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto own = [&](std::size_t j) { return (in[j] < 40) == (in[i] < 40) ? (in[j] < 40 ? 1U : 1000U) : 0U; };
    ASSERT_EQ(out[i], over_simdgroup(i, own) + over_simdgroup(i, [](std::size_t) { return 1000000U; })) << i;
  }
}

// The way out in the middle must not keep those apart that stay.
TEST(Interpreter, LanesMeetAgainBehindABranchThatSomeLeaveTheKernelIn) {
  const auto in = scattered(kThreads, 4);
  const auto out = run_both(over_uints(R"(
  %bit0 = and i32 %x, 1
  %c0 = icmp ne i32 %bit0, 0
  br i1 %c0, label %inner, label %join
inner:
  %c1 = icmp ugt i32 %x, 1
  br i1 %c1, label %gone, label %stays
gone:
  ret void
stays:
  br label %join
join:
  %y = call i32 @air.simd_sum.u.i32(i32 1)
  br label %end
)"),
                            in);
  for (std::size_t i = 0; i < kThreads; ++i) {
    const std::uint32_t there = over_simdgroup(i, [&](std::size_t j) { return in[j] == 3 ? 0U : 1U; });
    ASSERT_EQ(out[i], in[i] == 3 ? 0x77777777 : there) << i;
  }
}

TEST(Interpreter, LoopsOfDifferentLengthsAndWhatComesBehindThem) {
  const auto in = scattered(kThreads, 9);
  const auto out = run_both(over_uints(R"(
  br label %head
head:
  %k = phi i32 [ 0, %0 ], [ %k1, %body ]
  %sum = phi i32 [ 0, %0 ], [ %sum1, %body ]
  %more = icmp ult i32 %k, %x
  br i1 %more, label %body, label %behind
body:
  %n = call i32 @air.simd_sum.u.i32(i32 1)
  %sum1 = add i32 %sum, %n
  %k1 = add i32 %k, 1
  br label %head
behind:
  %all = call i32 @air.simd_sum.u.i32(i32 1000)
  %y = add i32 %sum, %all
  br label %end
)"),
                            in);
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::uint32_t expected = over_simdgroup(i, [](std::size_t) { return 1000U; });
    for (std::uint32_t k = 0; k < in[i]; ++k)
      expected += over_simdgroup(i, [&](std::size_t j) { return in[j] > k ? 1U : 0U; });
    ASSERT_EQ(out[i], expected) << i;
  }
}

// Lanes that go on to the next round wait for those that are still in this one.
TEST(Interpreter, ContinueWaitsForTheRoundToEnd) {
  const auto in = scattered(kThreads, 256);
  const auto out = run_both(over_uints(R"(
  br label %head
head:
  %k = phi i32 [ 0, %0 ], [ %k1, %skip ], [ %k1, %does ]
  %sum = phi i32 [ 0, %0 ], [ %sum, %skip ], [ %sum1, %does ]
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k, 8
  br i1 %more, label %body, label %behind
body:
  %shifted = lshr i32 %x, %k
  %bit = and i32 %shifted, 1
  %c = icmp ne i32 %bit, 0
  br i1 %c, label %skip, label %does
skip:
  br label %head
does:
  %n = call i32 @air.simd_sum.u.i32(i32 1)
  %sum1 = add i32 %sum, %n
  br label %head
behind:
  %y = add i32 %sum, 0
  br label %end
)"),
                            in);
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::uint32_t expected = 0;
    for (unsigned k = 0; k < 8; ++k) {
      if ((in[i] >> k & 1) != 0) continue;
      expected += over_simdgroup(i, [&](std::size_t j) { return ~in[j] >> k & 1; });
    }
    ASSERT_EQ(out[i], expected) << i;
  }
}

// The same where the round begins with a meeting of all.
TEST(Interpreter, ABranchAtTheEndOfARoundEndsBeforeTheNextBegins) {
  const auto in = scattered(kThreads, 256);
  const auto out = run_both(over_uints(R"(
  br label %head
head:
  %k = phi i32 [ 0, %0 ], [ %k1, %next ]
  %sum = phi i32 [ 0, %0 ], [ %sum2, %next ]
  %all = call i32 @air.simd_sum.u.i32(i32 1000)
  %sum1 = add i32 %sum, %all
  %shifted = lshr i32 %x, %k
  %bit = and i32 %shifted, 1
  %c = icmp ne i32 %bit, 0
  br i1 %c, label %does, label %next
does:
  %n = call i32 @air.simd_sum.u.i32(i32 1)
  %with = add i32 %sum1, %n
  br label %next
next:
  %sum2 = phi i32 [ %sum1, %head ], [ %with, %does ]
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, 8
  br i1 %more, label %head, label %behind
behind:
  %y = add i32 %sum2, 0
  br label %end
)"),
                            in);
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::uint32_t expected = 8 * over_simdgroup(i, [](std::size_t) { return 1000U; });
    for (unsigned k = 0; k < 8; ++k) {
      if ((in[i] >> k & 1) != 0) expected += over_simdgroup(i, [&](std::size_t j) { return in[j] >> k & 1; });
    }
    ASSERT_EQ(out[i], expected) << i;
  }
}

// How a compiler lays out the blocks says nothing about their order.
TEST(Interpreter, BlocksMayLieInAnyOrder) {
  const auto in = scattered(kThreads, 9);
  const auto out = run_both(over_uints(R"(
  br label %head
behind:
  %all = call i32 @air.simd_sum.u.i32(i32 1000)
  %y = add i32 %sum, %all
  br label %end
body:
  %n = call i32 @air.simd_sum.u.i32(i32 1)
  %sum1 = add i32 %sum, %n
  %k1 = add i32 %k, 1
  br label %head
head:
  %k = phi i32 [ 0, %0 ], [ %k1, %body ]
  %sum = phi i32 [ 0, %0 ], [ %sum1, %body ]
  %more = icmp ult i32 %k, %x
  br i1 %more, label %body, label %behind
)"),
                            in);
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::uint32_t expected = over_simdgroup(i, [](std::size_t) { return 1000U; });
    for (std::uint32_t k = 0; k < in[i]; ++k)
      expected += over_simdgroup(i, [&](std::size_t j) { return in[j] > k ? 1U : 0U; });
    ASSERT_EQ(out[i], expected) << i;
  }
}

// An inner loop of different lengths, left by some, in an outer one.
TEST(Interpreter, LoopsInLoops) {
  const auto in = scattered(kThreads, 6);
  const auto out = run_both(over_uints(R"(
  br label %outer
outer:
  %r = phi i32 [ 0, %0 ], [ %r1, %next ]
  %sum = phi i32 [ 0, %0 ], [ %sum3, %next ]
  br label %inner
inner:
  %k = phi i32 [ 0, %outer ], [ %k1, %on ]
  %sum1 = phi i32 [ %sum, %outer ], [ %sum2, %on ]
  %n = call i32 @air.simd_sum.u.i32(i32 1)
  %sum2 = add i32 %sum1, %n
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %x
  br i1 %more, label %on, label %next
on:
  %s = add i32 %k1, %r
  %leave = icmp eq i32 %s, 5
  br i1 %leave, label %next, label %inner
next:
  %m = call i32 @air.simd_sum.u.i32(i32 100)
  %sum3 = add i32 %sum2, %m
  %r1 = add i32 %r, 1
  %again = icmp ult i32 %r1, 3
  br i1 %again, label %outer, label %behind
behind:
  %y = add i32 %sum3, 0
  br label %end
)"),
                            in);
  const auto rounds = [&](std::size_t j, std::uint32_t r) {
    std::uint32_t k = 1;
    while (k < in[j] && k + r != 5) ++k;
    return k;
  };
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::uint32_t expected = 0;
    for (std::uint32_t r = 0; r < 3; ++r) {
      expected += over_simdgroup(i, [](std::size_t) { return 100U; });
      for (std::uint32_t k = 0; k < rounds(i, r); ++k) {
        expected += over_simdgroup(i, [&](std::size_t j) { return rounds(j, r) > k ? 1U : 0U; });
      }
    }
    ASSERT_EQ(out[i], expected) << i;
  }
}

TEST(Interpreter, SwitchesPartLanesManyWays) {
  const auto in = scattered(kThreads, 5);
  const auto out = run_both(over_uints(R"(
  switch i32 %x, label %other [ i32 0, label %zero
                                i32 1, label %one
                                i32 3, label %zero ]
zero:
  %a = call i32 @air.simd_sum.u.i32(i32 1)
  br label %join
one:
  %b = call i32 @air.simd_sum.u.i32(i32 100)
  br label %join
other:
  %c = call i32 @air.simd_sum.u.i32(i32 10000)
  br label %join
join:
  %y = phi i32 [ %a, %zero ], [ %b, %one ], [ %c, %other ]
  br label %end
)"),
                            in);
  const auto way = [&](std::size_t j) { return in[j] == 0 || in[j] == 3 ? 1U : in[j] == 1 ? 100U : 10000U; };
  for (std::size_t i = 0; i < kThreads; ++i) {
    ASSERT_EQ(out[i], over_simdgroup(i, [&](std::size_t j) { return way(j) == way(i) ? way(j) : 0; })) << i;
  }
}

TEST(Interpreter, VotesAreOfTheActiveLanes) {
  for (const char* of : {"simd_any", "simd_all", "quad_any", "quad_all"}) {
    const auto in = scattered(kThreads, 4);
    const AirText air = over_uints(std::string(R"(
  %c = icmp ne i32 %x, 2
  %one = icmp eq i32 %x, 1
  br i1 %c, label %vote, label %none
vote:
  %v = call i1 @air.)") + of + R"((i1 %one)
  br label %join
none:
  br label %join
join:
  %p = phi i1 [ %v, %vote ], [ false, %none ]
  %y = zext i1 %p to i32
  br label %end
)");
    const std::string name = of;
    const auto out = run_both(air, in);
    const std::size_t width = name.starts_with("quad") ? 4 : 32;
    for (std::size_t i = 0; i < kThreads; ++i) {
      bool any = false;
      bool all = true;
      for (std::size_t j = i / width * width; j < std::min<std::size_t>(i / width * width + width, kThreads); ++j) {
        any = any || in[j] == 1;
        all = all && (in[j] == 1 || in[j] == 2);
      }
      ASSERT_EQ(out[i] != 0, in[i] != 2 && (name.ends_with("any") ? any : all)) << name << " " << i;
    }
  }
}

// Functions that say which lanes are active, in a branch that lanes with x = 2 do not take.
TEST(Interpreter, BallotsAndTheFirstLane) {
  const auto in = scattered(kThreads, 4);
  struct Case {
    std::string call;
    std::uint32_t (*answer)(std::uint32_t active, std::uint32_t ones, std::uint32_t lane);
  };
  const Case cases[] = {
      {"  %r = call i64 @air.simd_ballot.i64(i1 %one)\n  %v = trunc i64 %r to i32\n",
       [](std::uint32_t, std::uint32_t ones, std::uint32_t) { return ones; }},
      {"  %r = call i64 @air.simd_active_threads_mask.i64()\n  %v = trunc i64 %r to i32\n",
       [](std::uint32_t active, std::uint32_t, std::uint32_t) { return active; }},
      {"  %r = call i1 @air.simd_is_first()\n  %v = zext i1 %r to i32\n",
       [](std::uint32_t active, std::uint32_t, std::uint32_t lane) {
         return static_cast<std::uint32_t>((active & ((1U << lane) - 1)) == 0);
       }},
      {"  %v = call i32 @air.simd_broadcast_first.u.i32(i32 %thread_index_in_simdgroup)\n",
       [](std::uint32_t active, std::uint32_t, std::uint32_t) {
         return static_cast<std::uint32_t>(std::countr_zero(active));
       }},
      {"  %v = call i32 @air.quad_broadcast_first.u.i32(i32 %thread_index_in_simdgroup)\n",
       [](std::uint32_t active, std::uint32_t, std::uint32_t lane) {
         return lane / 4 * 4 + static_cast<std::uint32_t>(std::countr_zero(active >> lane / 4 * 4));
       }},
      {"  %r = call i64 @air.quad_ballot.i64(i1 %one)\n  %v = trunc i64 %r to i32\n",
       [](std::uint32_t, std::uint32_t ones, std::uint32_t lane) { return ones >> lane / 4 * 4 & 15; }},
      {"  %r = call i1 @air.quad_is_first()\n  %v = zext i1 %r to i32\n",
       [](std::uint32_t active, std::uint32_t, std::uint32_t lane) {
         return static_cast<std::uint32_t>(static_cast<std::uint32_t>(std::countr_zero(active >> lane / 4 * 4)) ==
                                           lane % 4);
       }},
  };
  for (const auto& [call, answer] : cases) {
    const std::size_t begin = call.find("call ") + 5;
    std::string declared = call.substr(begin, call.find('(') - begin);
    const std::string arguments = call.substr(call.find('('));
    declared += arguments.starts_with("(i1") ? "(i1)" : arguments.starts_with("(i32") ? "(i32)" : "()";
    const auto out = run_both(over_uints("  %one = icmp eq i32 %x, 1\n  %c = icmp ne i32 %x, 2\n"
                                         "  br i1 %c, label %in, label %out\nin:\n" +
                                             call +
                                             "  br label %join\nout:\n  br label %join\njoin:\n"
                                             "  %y = phi i32 [ %v, %in ], [ 12345, %out ]\n  br label %end\n",
                                         "declare " + declared),
                              in);
    for (std::size_t i = 0; i < kThreads; ++i) {
      const auto bits = [&](auto of) { return over_simdgroup(i, [&](std::size_t j) { return of(in[j]) << j % 32; }); };
      const std::uint32_t active = bits([](std::uint32_t x) { return x == 2 ? 0U : 1U; });
      const std::uint32_t ones = bits([](std::uint32_t x) { return x == 1 ? 1U : 0U; });
      const std::uint32_t expected = answer(active, ones, static_cast<std::uint32_t>(i % 32));
      ASSERT_EQ(out[i], in[i] == 2 ? 12345 : expected) << declared << " " << i;
    }
  }
}

// --- Numbers.

struct FunctionOf {
  std::string name;  // whole
  unsigned operands;
  std::string result;
  unsigned result_bytes;
};

// b0[f * threads + i] = function f of what b1, b2 and b3 have at i; places of b0 are eight bytes wide.
AirText functions_of(const std::vector<FunctionOf>& functions, const std::string& type, unsigned threads) {
  std::string outside;
  std::string body = "  %i = zext i32 %thread_position_in_grid to i64\n";
  for (const char* n : {"1", "2", "3"}) {
    body += std::string("  %p") + n + " = getelementptr " + type + ", ptr addrspace(1) %b" + n + ", i64 %i\n  %x" + n +
            " = load " + type + ", ptr addrspace(1) %p" + n + "\n";
  }
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const auto& [name, operands, result, bytes] = functions[f];
    std::string types;
    std::string values;
    for (unsigned i = 1; i <= operands; ++i) {
      types += (i == 1 ? "" : ", ") + type;
      values += (i == 1 ? "" : ", ") + type + " %x" + std::to_string(i);
    }
    const std::string n = std::to_string(f);
    outside += "declare " + result + " @" + name + "(" + types + ")\n";
    body += "  %y" + n + " = call " + result + " @" + name + "(" + values + ")\n  %at" + n + " = add i64 %i, " +
            std::to_string(f * threads) + "\n  %to" + n + " = getelementptr i64, ptr addrspace(1) %b0, i64 %at" + n +
            "\n";
    std::string stored = result + " %y" + n;
    if (result == "i1") {
      body += "  %z" + n + " = zext i1 %y" + n + " to i8\n";
      stored = "i8 %z" + n;
    }
    body += "  store " + stored + ", ptr addrspace(1) %to" + n + "\n";
  }
  return AirText().buffers(4).builtin("thread_position_in_grid").outside(outside).body(body + "  ret void\n");
}

// Compares what both engines make of b1, b2 and b3, function by function.
void compare_functions(const std::vector<FunctionOf>& functions, const std::string& type, std::vector<Bytes> operands) {
  const AirText air = functions_of(functions, type, kThreads);
  operands.insert(operands.begin(), Bytes(functions.size() * kThreads * 8));
  const auto one = values_of<std::uint64_t>(interpreted(air, operands, kGrid, kGroup));
  const auto other = values_of<std::uint64_t>(compiled(air, operands, kGrid, kGroup));
  for (std::size_t f = 0; f < functions.size(); ++f) {
    for (std::size_t i = 0; i < kThreads; ++i) {
      const std::size_t at = f * kThreads + i;
      if (one[at] == other[at]) continue;
      ADD_FAILURE() << functions[f].name << " of operand " << i << ": " << std::hex << one[at] << " interpreted, "
                    << other[at] << " compiled";
      break;
    }
  }
}

// Ends of the range, small ones, and any.
template <typename T>
std::vector<T> integers(unsigned threads, std::uint32_t seed) {
  const T ends[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 2, 7};
  std::vector<T> values(threads);
  for (unsigned i = 0; i < threads; ++i) {
    std::uint64_t word = (i + 1) * 0x9e3779b97f4a7c15ULL * seed;
    word ^= word >> 29;
    values[i] = i < 49 ? ends[seed % 2 == 0 ? i / 7 : i % 7] : static_cast<T>(word >> 13);
  }
  return values;
}

TEST(Interpreter, IntegerFunctionsAgree) {
  const auto check = [](auto example, const std::string& type, const std::string& sign) {
    using T = decltype(example);
    std::vector<FunctionOf> functions;
    const auto add = [&](const std::string& name, unsigned operands, bool with_sign) {
      functions.push_back({"air." + name + (with_sign ? "." + sign + "." : ".") + type, operands, type, sizeof(T)});
    };
    for (const char* name : {"min", "max", "abs_diff", "add_sat", "sub_sat", "hadd", "rhadd", "mul_hi"})
      add(name, 2, true);
    for (const char* name : {"min3", "max3", "median3", "clamp", "mad_hi"}) add(name, 3, true);
    for (const char* name : {"clz", "ctz", "popcount", "reverse_bits"}) add(name, 1, false);
    add("rotate", 2, false);
    if (sign == "s") add("abs", 1, true);
    // As an optimiser writes them.
    const auto add_llvm = [&](const std::string& name, unsigned operands) {
      functions.push_back({"llvm." + name + "." + type, operands, type, sizeof(T)});
    };
    for (const char* name : {"add.sat", "sub.sat"}) add_llvm(sign + name, 2);
    add_llvm(sign + "cmp." + type, 2);
    for (const char* name : {"fshl", "fshr"}) add_llvm(name, 3);
    add_llvm("bitreverse", 1);
    if (sizeof(T) > 1) add_llvm("bswap", 1);
    compare_functions(
        functions, type,
        {bytes_of(integers<T>(kThreads, 2)), bytes_of(integers<T>(kThreads, 3)), bytes_of(integers<T>(kThreads, 5))});
  };
  check(std::int8_t{}, "i8", "s");
  check(std::uint8_t{}, "i8", "u");
  check(std::int16_t{}, "i16", "s");
  check(std::uint16_t{}, "i16", "u");
  check(std::int32_t{}, "i32", "s");
  check(std::uint32_t{}, "i32", "u");
  check(std::int64_t{}, "i64", "s");
  check(std::uint64_t{}, "i64", "u");
}

Bytes reals_of(const Type& type, unsigned threads, std::uint32_t seed) {
  const float ends[] = {0.0F,
                        -0.0F,
                        1.0F,
                        -1.0F,
                        0.5F,
                        -2.5F,
                        1e30F,
                        -1e30F,
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity(),
                        std::nanf(""),
                        3.5F,
                        127.6F,
                        65503.0F,
                        -129.4F,
                        1e-3F};
  Bytes bytes(std::size_t{threads} * type.bytes);
  for (unsigned i = 0; i < threads; ++i) {
    const std::uint32_t word = (i + seed) * 2654435761U;
    const float any = std::ldexp(static_cast<float>(word >> 8) * 0x1p-24F + 0.5F, static_cast<int>(word % 24) - 8);
    put_real(bytes.data() + i * type.bytes, type, i < 32 ? ends[(i * seed) % 16] : (word >> 7 & 1) != 0 ? -any : any);
  }
  return bytes;
}

TEST(Interpreter, ConversionsAgreeForEveryPairOfTypes) {
  struct Number {
    std::string llvm;
    std::string suffix;
    unsigned bytes;
    bool real;
  };
  const Number numbers[] = {{"float", "f.f32", 4, true}, {"half", "f.f16", 2, true}, {"bfloat", "f.bf16", 2, true},
                            {"i8", "s.i8", 1, false},    {"i8", "u.i8", 1, false},   {"i16", "s.i16", 2, false},
                            {"i16", "u.i16", 2, false},  {"i32", "s.i32", 4, false}, {"i32", "u.i32", 4, false},
                            {"i64", "s.i64", 8, false},  {"i64", "u.i64", 8, false}, {"i1", "u.i1", 1, false}};
  for (const Number& from : numbers) {
    if (from.llvm == "i1") continue;
    std::vector<FunctionOf> functions;
    for (const Number& to : numbers) {
      if (to.suffix == from.suffix) continue;
      functions.push_back({"air.convert." + to.suffix + "." + from.suffix, 1, to.llvm, to.bytes});
    }
    Bytes in;
    if (from.real) {
      in = reals_of({from.llvm, "", from.bytes, 1, true}, kThreads, 1);
    } else {
      const auto wide = integers<std::int64_t>(kThreads, 3);
      for (const std::int64_t value : wide) {
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        in.insert(in.end(), bytes, bytes + from.bytes);
      }
    }
    compare_functions(functions, from.llvm, {in, in, in});
  }
}

// To the bit where the specification wants the nearest number, within a few units in the last place elsewhere.
TEST(Interpreter, FunctionsOfRealsAgree) {
  for (const Type& type : {Type{"float", "f32", 4, 1, true}, Type{"half", "f16", 2, 1, true}}) {
    std::vector<FunctionOf> functions;
    std::vector<double> units;
    const auto add = [&](const std::string& name, unsigned operands, double allowed) {
      functions.push_back({"air." + name + "." + type.suffix, operands, type.llvm, type.bytes});
      units.push_back(allowed);
    };
    for (const char* name : {"fabs", "floor", "ceil", "trunc", "rint", "round", "sqrt", "fract", "sign", "saturate"}) {
      add(name, 1, 0);
    }
    for (const char* name : {"fmin", "fmax", "copysign", "step"}) add(name, 2, 0);
    for (const char* name : {"fma", "clamp", "fmin3", "fmax3", "fmedian3"}) add(name, 3, 0);
    for (const char* name : {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2",
                             "exp10", "log", "log2", "log10", "rsqrt", "sinpi", "cospi"}) {
      add(name, 1, 4);
    }
    for (const char* name : {"pow", "atan2", "fmod"}) add(name, 2, 4);
    const std::vector<Bytes> buffers = {Bytes(functions.size() * kThreads * 8), reals_of(type, kThreads, 1),
                                        reals_of(type, kThreads, 3), reals_of(type, kThreads, 5)};
    const AirText air = functions_of(functions, type.llvm, kThreads);
    const Bytes one = interpreted(air, buffers, kGrid, kGroup);
    const Bytes other = compiled(air, buffers, kGrid, kGroup);
    for (std::size_t f = 0; f < functions.size(); ++f) {
      for (std::size_t i = 0; i < kThreads; ++i) {
        const auto value = [&](const Bytes& bytes) -> double {
          const std::byte* at = bytes.data() + (f * kThreads + i) * 8;
          float wide = 0;
          gpu::support::float16 narrow = 0;
          std::memcpy(&wide, at, 4);
          std::memcpy(&narrow, at, 2);
          return type.bytes == 4 ? wide : static_cast<float>(narrow);
        };
        const double a = value(one);
        const double b = value(other);
        if (std::isnan(a) && std::isnan(b)) continue;
        const double unit = std::abs(a) * (type.bytes == 4 ? 0x1p-23 : 0x1p-10);
        const bool close = a == b ? std::signbit(a) == std::signbit(b) || units[f] > 0
                                  : std::abs(a - b) <= units[f] * std::max(unit, 0x1p-24);
        EXPECT_TRUE(close) << functions[f].name << " of " << i << ": " << a << " interpreted, " << b << " compiled";
      }
    }
  }
}

TEST(Interpreter, ClassesOfRealsAgree) {
  for (const Type& type : {Type{"float", "f32", 4, 1, true}, Type{"half", "f16", 2, 1, true}}) {
    // The smallest of a class and the largest, of both signs, and a NaN of either kind.
    const std::vector<std::uint32_t> ends =
        type.bytes == 4
            ? std::vector<std::uint32_t>{0, 1, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000}
            : std::vector<std::uint32_t>{0, 1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0x7c01, 0x7e00};
    Bytes in(kThreads * type.bytes);
    for (unsigned i = 0; i < kThreads; ++i) {
      const std::uint32_t sign = i / 8 % 2 != 0 ? 1U << (8 * type.bytes - 1) : 0;
      const std::uint32_t bits = ends[i % 8] | sign;
      std::memcpy(in.data() + i * type.bytes, &bits, type.bytes);
    }
    for (unsigned kind = 0; kind < 10; ++kind) {
      const std::string function = "@llvm.is.fpclass." + type.suffix;
      const AirText air =
          AirText()
              .buffers(2)
              .builtin("thread_position_in_grid")
              .outside("declare i1 " + function + "(" + type.llvm + ", i32 immarg)\n")
              .body("  %i = zext i32 %thread_position_in_grid to i64\n  %at = getelementptr " + type.llvm +
                    ", ptr addrspace(1) %b1, i64 %i\n  %x = load " + type.llvm +
                    ", ptr addrspace(1) %at\n  %is = call i1 " + function + "(" + type.llvm + " %x, i32 " +
                    std::to_string(1U << kind) +
                    ")\n  %y = zext i1 %is to i8\n  %to = getelementptr i8, ptr addrspace(1) %b0, i64 %i\n"
                    "  store i8 %y, ptr addrspace(1) %to\n  ret void\n");
      const auto found = both<std::uint8_t>(air, {Bytes(kThreads), in}, kGrid, kGroup, function);
      EXPECT_NE(std::ranges::count(found, 1), 0) << function << ", class " << kind;
    }
  }
}

// Poles lie there of what is computed with them.
TEST(Interpreter, SinesOfHalfTurnsAreZero) {
  std::vector<float> whole(kThreads);
  std::vector<float> halves(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) {
    whole[i] = static_cast<float>(i) - 50;
    halves[i] = whole[i] + 0.5F;
  }
  for (const auto& [name, in] : {std::pair("air.sinpi.f32", whole), std::pair("air.cospi.f32", halves)}) {
    const AirText air = functions_of({{name, 1, "float", 4}}, "float", kThreads);
    const std::vector<Bytes> buffers = {Bytes(8 * kThreads), bytes_of(in), bytes_of(in), bytes_of(in)};
    for (const Bytes& out : {interpreted(air, buffers, kGrid, kGroup), compiled(air, buffers, kGrid, kGroup)}) {
      for (const float value : values_of<float>(out)) ASSERT_EQ(value, 0) << name;
    }
  }
}

// The least of eight, carried around a loop; b0 also counts the rounds, so that the branch stays one. All are denormal.
TEST(Interpreter, BfloatsAreCarriedAsTheyAre) {
  std::vector<std::uint16_t> in(kThreads + 8);
  for (unsigned i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(1 + i * 37 % 113);
  const AirText air = AirText().buffers(2).builtin("thread_position_in_grid").body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %to = getelementptr [2 x bfloat], ptr addrspace(1) %b0, i64 %i
  %counts = getelementptr [2 x i16], ptr addrspace(1) %b0, i64 %i, i64 1
  %first = getelementptr bfloat, ptr addrspace(1) %b1, i64 %i
  %x = load bfloat, ptr addrspace(1) %first, align 2
  br label %head
head:
  %k = phi i64 [ 0, %0 ], [ %k1, %latch ]
  %best = phi bfloat [ %x, %0 ], [ %next, %latch ]
  %from = getelementptr bfloat, ptr addrspace(1) %first, i64 %k
  %v = load bfloat, ptr addrspace(1) %from, align 2
  %less = fcmp olt bfloat %v, %best
  br i1 %less, label %then, label %latch
then:
  %was = load i16, ptr addrspace(1) %counts, align 2
  %is = add i16 %was, 1
  store i16 %is, ptr addrspace(1) %counts, align 2
  br label %latch
latch:
  %next = phi bfloat [ %v, %then ], [ %best, %head ]
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 8
  br i1 %more, label %head, label %behind
behind:
  store bfloat %next, ptr addrspace(1) %to, align 2
  ret void
)");
  const auto out = both<std::uint16_t>(air, {Bytes(4 * kThreads), bytes_of(in)}, kGrid, kGroup);
  for (unsigned i = 0; i < kThreads; ++i) ASSERT_EQ(out[2 * i], *std::min_element(&in[i], &in[i + 8])) << i;
}

// --- Matrices.

// How AIR says where a matrix lies: elements per row, origin and whether to transpose; or size, strides and origin.
struct MatrixForm {
  std::string types;
  std::string plain;
  std::string transposed;
};

const MatrixForm kForms[] = {
    {"i64, <2 x i64>, i1", "i64 10, <2 x i64> <i64 1, i64 2>, i1 false", "i64 10, <2 x i64> zeroinitializer, i1 true"},
    {"<2 x i64>, <2 x i64>, <2 x i64>",
     "<2 x i64> <i64 10, i64 8>, <2 x i64> <i64 1, i64 10>, <2 x i64> <i64 1, i64 2>",
     "<2 x i64> <i64 8, i64 10>, <2 x i64> <i64 10, i64 1>, <2 x i64> zeroinitializer"},
};

// a * transposed(b), plus what lanes make of their own elements, in rows of ten and in every mixture of types that
// Apple's compiler writes; a and the result begin in column 1 of row 2.
TEST(Interpreter, MatricesInBothForms) {
  for (const MatrixForm& form : kForms) {
    for (const auto& [left, right] : {std::pair("float", "float"), std::pair("half", "half"),
                                      std::pair("bfloat", "half"), std::pair("float", "half")}) {
      const auto suffix = [](const std::string& type) {
        return std::string(type == "float" ? "f32" : type == "half" ? "f16" : "bf16");
      };
      const auto load = [&](const std::string& type, const char* buffer, const std::string& place, bool declare) {
        return "<64 x " + type + "> @air.simdgroup_matrix_8x8_load.v64" + suffix(type) + ".p1" + suffix(type) +
               "(ptr addrspace(1)" + (declare ? "" : std::string(" %") + buffer) + ", " +
               (declare ? form.types : place) + ")";
      };
      const std::string product = "@air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64" + suffix(left) + ".v64" +
                                  suffix(right) + ".v64f32";
      const std::string l(left);
      const std::string r(right);
      std::string outside = "declare " + load(l, "", "", true) + "\n";
      if (l != r) outside += "declare " + load(r, "", "", true) + "\n";
      outside += "declare <64 x float> " + product + "(<64 x " + l + ">, <64 x " + r + ">, <64 x float>)\n";
      outside += "declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float)\n";
      outside += "declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)\n";
      outside += "declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), " +
                 form.types + ")\n";
      const AirText air = AirText().buffers(3).outside(outside).body(
          "  %a = call " + load(l, "b1", form.plain, false) + "\n  %b = call " + load(r, "b2", form.transposed, false) +
          "\n  %d = call <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float 5.0)\n"
          "  %ones = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 1.0)\n"
          "  %own = shufflevector <64 x float> %d, <64 x float> undef, <2 x i32> <i32 0, i32 1>\n"
          "  %more = shufflevector <64 x float> %ones, <64 x float> undef, <2 x i32> <i32 0, i32 1>\n"
          "  %sum = fadd <2 x float> %own, %more\n"
          "  %wide = shufflevector <2 x float> %sum, <2 x float> undef, <64 x i32> <i32 0, i32 1" +
          [] {
            std::string rest;
            for (int i = 2; i < 64; ++i) rest += ", i32 undef";
            return rest;
          }() +
          ">\n  %c = call <64 x float> " + product + "(<64 x " + l + "> %a, <64 x " + r +
          "> %b, <64 x float> %wide)\n"
          "  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %c, ptr addrspace(1) %b0, " +
          form.plain + ")\n  ret void\n");
      const auto matrix = [](const std::string& type, int seed) {
        const Type shape{type, "", type == "float" ? 4U : 2U, 1, true};
        Bytes bytes(100 * shape.bytes);
        for (int i = 0; i < 100; ++i) {
          put_real(bytes.data() + i * shape.bytes, shape, static_cast<float>((i * seed + i / 7) % 11 - 5));
        }
        return bytes;
      };
      const auto value = [](int seed, int i) { return static_cast<float>((i * seed + i / 7) % 11 - 5); };
      const auto out =
          both<float>(air, {Bytes(400), matrix(l, 3), matrix(r, 5)}, {32, 1, 1}, {32, 1, 1}, l + " " + r + form.types);
      for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 8; ++column) {
          float expected = row == column ? 6 : 1;
          for (int k = 0; k < 8; ++k) expected += value(3, (row + 2) * 10 + k + 1) * value(5, column * 10 + k);
          ASSERT_EQ(out[(row + 2) * 10 + column + 1], expected) << l << " " << r << ", " << row << " " << column;
        }
      }
    }
  }
}

// --- Threadgroups.

constexpr const char* kShared = "@shared = internal addrspace(3) global [256 x i32] undef, align 4\n";

// Threads that have ended are not waited for.
TEST(Interpreter, EarlyReturnBeforeABarrier) {
  const auto in = scattered(kThreads - 1, 10);  // everyone has a neighbour
  const auto out = run_both(over_uints(R"(
  %l = zext i32 %thread_index_in_threadgroup to i64
  %own = getelementptr [256 x i32], ptr addrspace(3) @shared, i64 0, i64 %l
  store i32 %x, ptr addrspace(3) %own, align 4
  %leaves = icmp ult i32 %x, 3
  br i1 %leaves, label %gone, label %stays
gone:
  ret void
stays:
  call void @air.wg.barrier(i32 2, i32 1)
  %flipped = xor i64 %l, 1
  %theirs = getelementptr [256 x i32], ptr addrspace(3) @shared, i64 0, i64 %flipped
  %y = load i32, ptr addrspace(3) %theirs, align 4
  br label %end
)",
                                       kShared),
                            in);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] < 3 ? 0x77777777 : in[i ^ 1]) << i;
}

// A tree over the threadgroup's memory, with a barrier in each round, in a function of its own.
TEST(Interpreter, BarriersInALoopInAFunction) {
  std::vector<std::uint32_t> in = scattered(512, 1000);
  const auto out = run_both(over_uints(R"(
  %l = zext i32 %thread_index_in_threadgroup to i64
  %own = getelementptr [256 x i32], ptr addrspace(3) @shared, i64 0, i64 %l
  store i32 %x, ptr addrspace(3) %own, align 4
  %y = call i32 @tree(i64 %l, i64 128)
  br label %end
)",
                                       std::string(kShared) + R"(
define internal i32 @tree(i64 %l, i64 %first) {
  br label %head
head:
  %half = phi i64 [ %first, %0 ], [ %next, %joined ]
  call void @air.wg.barrier(i32 2, i32 1)
  %works = icmp ult i64 %l, %half
  br i1 %works, label %adds, label %joined
adds:
  %own = getelementptr [256 x i32], ptr addrspace(3) @shared, i64 0, i64 %l
  %at = add i64 %l, %half
  %their = getelementptr [256 x i32], ptr addrspace(3) @shared, i64 0, i64 %at
  %a = load i32, ptr addrspace(3) %own, align 4
  %b = load i32, ptr addrspace(3) %their, align 4
  %c = add i32 %a, %b
  store i32 %c, ptr addrspace(3) %own, align 4
  br label %joined
joined:
  %next = lshr i64 %half, 1
  %more = icmp ne i64 %next, 0
  br i1 %more, label %head, label %behind
behind:
  call void @air.wg.barrier(i32 2, i32 1)
  %sum = load i32, ptr addrspace(3) @shared, align 4
  ret i32 %sum
}
)"),
                            in, {256, 1, 1});
  for (std::size_t i = 0; i < 512; ++i) {
    std::uint32_t expected = 0;
    for (std::size_t j = i / 256 * 256; j < i / 256 * 256 + 256; ++j) expected += in[j];
    ASSERT_EQ(out[i], expected) << i;
  }
}

// Memory whose size the launch says; the last threadgroup has 43 threads.
TEST(Interpreter, ThreadgroupMemoryThatTheLaunchGives) {
  const AirText air = AirText()
                          .buffers(1)
                          .threadgroup_buffer("t")
                          .builtin("thread_position_in_grid")
                          .builtin("thread_position_in_threadgroup")
                          .builtin("threads_per_threadgroup")
                          .outside("declare void @air.wg.barrier(i32, i32)")
                          .body(R"(
  %i = zext i32 %thread_position_in_grid to i64
  %l = zext i32 %thread_position_in_threadgroup to i64
  %own = getelementptr i32, ptr addrspace(3) %t, i64 %l
  store i32 %thread_position_in_grid, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %last = sub i32 %threads_per_threadgroup, 1
  %mirror = sub i32 %last, %thread_position_in_threadgroup
  %m = zext i32 %mirror to i64
  %other = getelementptr i32, ptr addrspace(3) %t, i64 %m
  %y = load i32, ptr addrspace(3) %other, align 4
  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i
  store i32 %y, ptr addrspace(1) %to, align 4
  ret void
)");
  const OwnedFunction function(air);
  for (const auto& pipeline :
       {interpret::make_interpreter(function.entry, {}), engine::make_pipeline(function.entry, {})}) {
    std::vector<std::uint32_t> out(kThreads);
    pipeline::Launch launch;
    launch.buffers[0] = out.data();
    launch.threadgroup_bytes[0] = 4 * kGroup[0];
    pipeline->launch(launch, kGrid, kGroup);
    for (unsigned i = 0; i < kThreads; ++i) ASSERT_EQ(out[i], i < 64 ? 63 - i : 64 + kThreads - 1 - i) << i;
  }
}

// Of threadgroups of 8x5x2 in a grid of 17x7x3.
TEST(Interpreter, PositionsInAGridThatItsThreadgroupsDoNotFill) {
  constexpr std::uint32_t kGridSize[] = {17, 7, 3};
  constexpr std::uint32_t kGroupSize[] = {8, 5, 2};
  const auto volume = [](const std::uint32_t* size) { return size[0] * size[1] * size[2]; };
  struct Builtin {
    std::string name;
    std::uint32_t (*answer)(std::uint32_t index, std::uint32_t threads, std::uint32_t full);
  };
  const Builtin builtins[] = {
      {"thread_index_in_threadgroup", [](std::uint32_t index, std::uint32_t, std::uint32_t) { return index; }},
      {"thread_index_in_simdgroup", [](std::uint32_t index, std::uint32_t, std::uint32_t) { return index % 32; }},
      {"simdgroup_index_in_threadgroup", [](std::uint32_t index, std::uint32_t, std::uint32_t) { return index / 32; }},
      {"thread_index_in_quadgroup", [](std::uint32_t index, std::uint32_t, std::uint32_t) { return index % 4; }},
      {"quadgroup_index_in_threadgroup", [](std::uint32_t index, std::uint32_t, std::uint32_t) { return index / 4; }},
      {"threads_per_simdgroup", [](std::uint32_t, std::uint32_t, std::uint32_t) { return 32U; }},
      {"simdgroups_per_threadgroup", [](std::uint32_t, std::uint32_t n, std::uint32_t) { return (n + 31) / 32; }},
      {"quadgroups_per_threadgroup", [](std::uint32_t, std::uint32_t n, std::uint32_t) { return (n + 3) / 4; }},
      {"dispatch_simdgroups_per_threadgroup",
       [](std::uint32_t, std::uint32_t, std::uint32_t n) { return (n + 31) / 32; }},
      {"dispatch_quadgroups_per_threadgroup",
       [](std::uint32_t, std::uint32_t, std::uint32_t n) { return (n + 3) / 4; }},
  };
  for (const auto& [name, answer] : builtins) {
    // Threads of one x add up a square each.
    const AirText air =
        AirText()
            .buffers(1)
            .builtin("thread_position_in_grid")
            .builtin(name)
            .outside("declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)")
            .body(
                "  %i = zext i32 %thread_position_in_grid to i64\n"
                "  %to = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n  %s = add i32 %" +
                name +
                ", 1\n  %q = mul i32 %s, %s\n"
                "  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %to, i32 %q, i32 0, i32 2, i1 true)\n"
                "  ret void\n");
    std::vector<std::uint32_t> expected(kGridSize[0]);
    for (std::uint32_t x = 0; x < kGridSize[0]; ++x) {
      for (std::uint32_t y = 0; y < kGridSize[1]; ++y) {
        for (std::uint32_t z = 0; z < kGridSize[2]; ++z) {
          const std::uint32_t at[] = {x, y, z};
          std::uint32_t size[3];
          for (unsigned i = 0; i < 3; ++i) {
            size[i] = std::min(kGroupSize[i], kGridSize[i] - at[i] / kGroupSize[i] * kGroupSize[i]);
          }
          const std::uint32_t index = x % 8 + size[0] * (y % 5 + size[1] * (z % 2));
          const std::uint32_t own = answer(index, volume(size), volume(kGroupSize)) + 1;
          expected[x] += own * own;
        }
      }
    }
    const std::vector<Bytes> buffers = {Bytes(4 * kGridSize[0])};
    const pipeline::Size grid = {kGridSize[0], kGridSize[1], kGridSize[2]};
    const pipeline::Size group = {kGroupSize[0], kGroupSize[1], kGroupSize[2]};
    EXPECT_EQ(values_of<std::uint32_t>(interpreted(air, buffers, grid, group)), expected) << name;
    EXPECT_EQ(values_of<std::uint32_t>(compiled(air, buffers, grid, group)), expected) << name;
  }
}

// --- The pipeline.

std::string interpreter_refusal(const AirText& air, const std::vector<Bytes>& buffers,
                                pipeline::Size group = {32, 1, 1}) {
  try {
    interpreted(air, buffers, {32, 1, 1}, group);
    return "";
  } catch (const pipeline::KernelError& error) {
    return error.what();
  }
}

TEST(Interpreter, RefusesWhatItDoesNotKnow) {
  const std::vector<Bytes> buffers = {Bytes(4 * 32), Bytes(4 * 32)};
  EXPECT_EQ(interpreter_refusal(over_uints("  %y = call i32 @air.mystery.u.i32(i32 %x)\n  br label %end\n",
                                           "declare i32 @air.mystery.u.i32(i32)"),
                                buffers),
            "k: it calls air.mystery.u.i32, which is not known here");
  EXPECT_EQ(interpreter_refusal(
                over_uints("  %y = atomicrmw add ptr addrspace(1) %to, i32 1 monotonic\n  br label %end\n"), buffers),
            "k: it has atomicrmw, which is not known here");
  EXPECT_EQ(
      interpreter_refusal(
          over_uints("  %d = uitofp i32 %x to double\n  %y = fptoui double %d to i32\n  br label %end\n"), buffers),
      "k: a value of type double is not known here");
  for (const char* type : {"<8 x i1>", "{ i32, <3 x i1> }", "[2 x <8 x i1>]"}) {
    EXPECT_EQ(interpreter_refusal(
                  over_uints("  %y = add i32 %x, 1\n  br label %end\n",
                             std::string("@bits = internal addrspace(2) constant ") + type + " zeroinitializer"),
                  buffers),
              "k: a vector of bits in memory is not known here");
  }
  const AirText fine = over_uints("  %y = add i32 %x, 1\n  br label %end\n");
  EXPECT_EQ(interpreter_refusal(fine, {}), "k: a thread reads or writes through null");
  EXPECT_EQ(interpreter_refusal(fine, buffers, {2000, 1, 1}), "k: a threadgroup of 2000 threads; it takes 1 to 1024");
  EXPECT_EQ(interpreter_refusal(fine, buffers), "");
}

// What Apple's compiler computes of a function constant before any kernel runs.
TEST(Interpreter, FunctionConstantsAndWhatIsMadeOfThem) {
  const AirText air = over_uints(
      "  %s = load i32, ptr addrspace(2) @twice, align 4\n  %y = mul i32 %x, %s\n"
      "  br label %end\n",
      R"(
@scale.MTL_FC_INIT_3_j = internal addrspace(2) externally_initialized constant i32 undef, align 4
@twice = internal addrspace(2) global i32 undef, align 4
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @_GLOBAL__sub_I_k, ptr null }]
define internal void @_GLOBAL__sub_I_k() section "air.static_init" {
  %s = load i32, ptr addrspace(2) @scale.MTL_FC_INIT_3_j, align 4
  %t = shl i32 %s, 1
  store i32 %t, ptr addrspace(2) @twice, align 4
  ret void
}
!air.function_constants = !{!102}
!102 = !{ptr addrspace(2) @scale.MTL_FC_INIT_3_j, !"uint", !"scale", i32 3, i1 true}
)");
  const auto in = scattered(kThreads, 1000);
  const std::vector<Bytes> buffers = {Bytes(4 * kThreads), bytes_of(in)};
  const auto one = values_of<std::uint32_t>(interpreted(air, buffers, kGrid, kGroup, {{3, 21}}));
  for (std::size_t i = 0; i < kThreads; ++i) ASSERT_EQ(one[i], 42 * in[i]);
  EXPECT_EQ(one, values_of<std::uint32_t>(compiled(air, buffers, kGrid, kGroup, {{3, 21}})));
}

TEST(Interpreter, DenormalNumbersAreZeroWhereTheModuleSaysSo) {
  const std::vector<float> in(kThreads, std::numeric_limits<float>::min());
  for (const bool disabled : {false, true}) {
    const AirText air = over_uints(
        "  %f = bitcast i32 %x to float\n  %h = fmul float %f, 0.5\n  %y = bitcast float %h to i32\n"
        "  br label %end\n",
        disabled ? "!air.compile_options = !{!103}\n!103 = !{!\"air.compile.denorms_disable\"}\n" : "");
    const auto out = both<float>(air, {Bytes(4 * kThreads), bytes_of(in)}, kGrid, kGroup);
    EXPECT_EQ(out[0], disabled ? 0.0F : std::numeric_limits<float>::min() / 2);
  }
}

// By what only it can tell: whether a value is the same in all lanes.
TEST(Interpreter, IsChosenByTheVariable) {
  const AirText air =
      over_uints("  %u = call i1 @air.is_uniform.i32(i32 %x)\n  %y = zext i1 %u to i32\n  br label %end\n",
                 "declare i1 @air.is_uniform.i32(i32)");
  const OwnedFunction function(air);
  const std::vector<Bytes> buffers = {Bytes(4 * kThreads), bytes_of(scattered(kThreads, 1000))};
  ASSERT_EQ(setenv("ANYMPS_METAL_ENGINE", "interpreter", 1), 0);
  const auto out =
      values_of<std::uint32_t>(launch(*select::make_chosen_pipeline(function.entry, {}), buffers, kGrid, kGroup));
  unsetenv("ANYMPS_METAL_ENGINE");
  EXPECT_EQ(out[0], 0U);
}

}  // namespace
}  // namespace anymps::metal
