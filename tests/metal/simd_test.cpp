// Kernels that run many lanes at once: that they do, and that they leave what one thread after the other leaves. What
// lanes do together is compared in interpreter_test.cpp, for every function and type.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/interpret/interpreter.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using lower::vectorize::Simdgroups;

struct Shape {
  pipeline::Size threads;
  pipeline::Size group;
};

class Kernel {
 public:
  explicit Kernel(const std::string& source) : program_("using namespace metal;\n" + source, {}) {
    air_ = program_.air_of("k");
    entry_.name = "k";
    entry_.bitcode = air_;
  }

  std::shared_ptr<pipeline::Pipeline> with(const lower::LoweringOptions& options) const {
    return engine::make_pipeline(entry_, options);
  }
  std::shared_ptr<pipeline::Pipeline> specialised() const {
    return engine::make_specialised_pipeline(entry_, {.simdgroups = Simdgroups::kWhole});
  }
  std::shared_ptr<pipeline::Pipeline> tiered() const { return engine::make_tiered_pipeline(entry_, {}); }
  std::shared_ptr<pipeline::Pipeline> interpreted() const { return interpret::make_interpreter(entry_, {}); }
  std::string not_vectorized(Simdgroups simdgroups = Simdgroups::kWhole) const {
    return engine::compile_kernel(air_, "k", {.simdgroups = simdgroups}).not_vectorized;
  }

 private:
  const frontend::Program program_;
  std::vector<std::byte> air_;
  library::FunctionEntry entry_;
};

using Words = std::vector<std::uint32_t>;

Words words(std::size_t count) {
  Words values(count);
  std::uint32_t random = 12345;
  for (std::uint32_t& value : values) value = random = random * 1664525 + 1013904223;
  return values;
}

Words launched(pipeline::Pipeline& pipeline, const Shape& shape, std::size_t size, std::uint32_t count) {
  Words out(size, 7);
  Words in = words(size);
  pipeline::Launch launch;
  launch.buffers[0] = out.data();
  launch.buffers[1] = in.data();
  launch.buffers[2] = &count;
  launch.buffer_bytes[2] = sizeof count;
  launch.by_value = 1 << 2;
  pipeline.launch(launch, shape.threads, shape.group);
  return out;
}

// Kernels take (device uint* out, device uint* in, constant uint& count, ...) here.
void agree(const std::string& source, const std::vector<Shape>& shapes, std::uint32_t count = 1000,
           std::size_t size = 1 << 14) {
  const Kernel kernel(source);
  EXPECT_EQ(kernel.not_vectorized(), "");
  const auto simd = kernel.with({.simdgroups = Simdgroups::kWhole});
  const auto specialised = kernel.specialised();
  const auto oracle = kernel.with({});
  const auto interpreter = kernel.interpreted();
  for (const Shape& shape : shapes) {
    const Words one = launched(*oracle, shape, size, count);
    EXPECT_EQ(launched(*simd, shape, size, count), one)
        << shape.threads[0] << " x " << shape.threads[1] << " by " << shape.group[0] << " x " << shape.group[1];
    EXPECT_EQ(launched(*specialised, shape, size, count), one);
    EXPECT_EQ(launched(*interpreter, shape, size, count), one);
  }
}

const std::vector<Shape> kRows = {
    {{1, 1, 1}, {1, 1, 1}}, {{1000, 1, 1}, {64, 1, 1}}, {{1024, 1, 1}, {1024, 1, 1}}, {{77, 5, 2}, {16, 4, 1}}};

TEST(Simd, ARowsEndRunsOneByOne) {
  agree(
      "kernel void k(device uint* out, device uint* in, constant uint& count, uint3 i [[thread_position_in_grid]], "
      "uint3 n [[threads_per_grid]]) { uint at = i.x + n.x * (i.y + n.y * i.z); out[at] = in[at] * 3 + i.y; }",
      kRows);
}

TEST(Simd, AGuardInTheMiddleOfLanes) {
  for (const std::uint32_t count : {0U, 1U, 31U, 500U, 999U, 5000U}) {
    agree(
        "kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) "
        "{ if (i >= count) return; out[i] = in[i] ^ i; }",
        {{{1000, 1, 1}, {128, 1, 1}}}, count);
  }
}

TEST(Simd, FourElementsOfAThread) {
  for (const std::uint32_t count : {4000U, 3998U, 10U}) {
    agree(
        R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) {
      if (i * 4 + 4 <= count) {
        for (uint j = 0; j < 4; ++j) out[i * 4 + j] = in[i * 4 + j] + 5;
      } else {
        for (uint j = i * 4; j < count; ++j) out[j] = in[j] + 5;
      }
    })",
        {{{1000, 1, 1}, {256, 1, 1}}}, count);
  }
}

// Lane 0 of the first group reads the last element of 2^32: an index that wraps between two lanes.
TEST(Simd, AnIndexThatWraps) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) {
    uint before = i - 1;
    out[i] = before < count ? in[before] : 99;
    out[i + 2000] = in[(i * 0x40000001u) & 1023];
  })",
        kRows);
}

TEST(Simd, AStepKnownOnlyAtRunTime) {
  for (const std::uint32_t count : {1U, 3U, 0U}) {
    agree(
        "kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) "
        "{ out[i] = in[i * count] + in[ulong(i) * count]; }",
        {{{999, 1, 1}, {64, 1, 1}}}, count);
  }
}

TEST(Simd, LanesThatPartAndLoopsThatTheyLeaveApart) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) {
    uint x = in[i], steps = 0;
    while (x != 1 && steps < 40) {
      if (x & 1) {
        if (x % 3 == 0) { x /= 3; continue; }
        x = x * 3 + 1;
      } else {
        x >>= 1;
      }
      if (++steps == 33 && i % 5 == 0) break;
    }
    switch (x % 7) {
      case 0: out[i] = steps; break;
      case 1: out[i] = steps * 2;
      case 2: out[i] ^= x; break;
      case 5: out[i] = count / (x | 1); break;
      default: out[i] = x;
    }
  })",
        kRows);
}

TEST(Simd, AThreadsOwnArrays) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) {
    uint own[16];
    for (uint j = 0; j < 16; ++j) own[j] = in[i + j];
    for (uint j = 0; j < count % 64; ++j) {
      uint a = in[i + j] % 16;
      if (own[a] & 1) { uint t = own[a]; own[a] = own[(a + 5) % 16]; own[(a + 5) % 16] = t; }
    }
    out[i] = own[3] + own[in[i] % 16];
  })",
        kRows);
}

TEST(Simd, ReturningBeforeABarrier) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]],
                         uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup uint shared[1024];
    shared[t] = in[i];
    if (i >= count) return;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = simd_sum(shared[t]);
    for (uint step = 1; step < n; step *= 2) {
      uint other = shared[(t ^ step) % n];
      threadgroup_barrier(mem_flags::mem_threadgroup);
      shared[t] += other;
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[i] = shared[t] + sum;
  })",
        {{{1024, 1, 1}, {64, 1, 1}}, {{1000, 1, 1}, {96, 1, 1}}, {{512, 1, 1}, {33, 1, 1}}}, 700);
}

TEST(Simd, ThreadgroupsOfTwoDimensions) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint2 i [[thread_position_in_grid]],
                         uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[16][17];
    tile[t.y][t.x] = in[i.y * 64 + i.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[(g.x * 16 + t.y) * 64 + g.y * 16 + t.x] = tile[t.x][t.y];
  })",
        {{{64, 64, 1}, {16, 16, 1}}});
}

TEST(Simd, TheRouteSaysSo) {
  const Kernel kernel(
      "kernel void k(device uint* out, device uint* in, constant uint& count, "
      "uint i [[thread_position_in_grid]]) { out[i] = in[i]; }");
  EXPECT_EQ(kernel.not_vectorized(Simdgroups::kAny), "");
  EXPECT_EQ(kernel.with({.simdgroups = Simdgroups::kWhole})->route(), abi::Route::kSimdLoop);
  EXPECT_EQ(kernel.with({})->route(), abi::Route::kThreadLoop);
}

// Sides that all lanes take, none of them, or some; and writes to a threadgroup's memory beside those of others.
TEST(Simd, SidesByPositionBetweenBarriers) {
  const std::string source = R"(
    kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]]) {
      threadgroup uint shared[2][256];
      threadgroup ushort halves[256];
      shared[0][t] = in[i];
      shared[1][t] = t;
      halves[t] = ushort(in[i] >> 7);
      uint from = 0;
      for (uint nodes = 255; nodes > 200; nodes -= 3) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < nodes) shared[1 - from][t] = shared[from][t + 1] * 3 + shared[from][t];
        if (t != 77 && t > 3) halves[t] += 1;
        if (in[i + nodes] & 1) halves[t] *= 3;
        from = 1 - from;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      out[i] = (t < count ? shared[from][t] : t) + shared[1][t] + halves[255 - t];
    })";
  for (const std::uint32_t count : {0U, 17U, 150U, 256U}) agree(source, {{{1024, 1, 1}, {256, 1, 1}}}, count);
}

TEST(Simd, ComparisonsThatWrapBetweenLanes) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) {
    if (i + 0xFFFFFFF5u < count) out[i + 1024] = in[i];
    if (int(i) - 500 < int(count) - 990) out[i + 2048] = in[i];
    if (0x7FFFFFF9 - int(i) < 0x7FFFFF00) out[i + 3072] = in[i];
    if (as_type<int>(i + 0x7FFFFFF5u) > 7) out[i + 4096] = in[i];
    if (i != count / 2 && 900 - i != count / 4) out[i + 5120] = in[i];
    if (ulong(i + 0xFFFFFF03u) <= count) out[i + 6144] = in[i];
    for (int j = int(i) + 5; j >= int(count) - 980; j -= 64) out[i] ^= uint(j);
  })",
        kRows);
}

// Lanes begin at a multiple of their number, so that they share index / 32 and count on in index % 32.
TEST(Simd, PartsOfAnIndex) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint2 i [[thread_position_in_grid]],
                         uint2 n [[threads_per_grid]], uint2 at [[thread_position_in_threadgroup]],
                         uint2 size [[threads_per_threadgroup]],
                         uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint tile[64][16];
    for (uint e = t; e < 1024; e += size.x * size.y) tile[e / 16][e % 16] = in[e / 16 * 20 + e % 16];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint x = tile[t / 4 % 64][t % 16] + tile[at.y][at.x % 8] + tile[(t * 4) / 64 % 64][(t * 4) % 16];
    out[i.y * n.x + i.x] = x + lane * 7 + simdgroup * 1000 + t / 32 + (t & 31) * 3 + (t & 7) + at.x / 2 +
                            ((t + 5) & 31) * 11 + (t + 9) / 32;
  })",
        {{{64, 64, 1}, {16, 16, 1}}, {{64, 32, 1}, {8, 32, 1}}, {{128, 16, 1}, {32, 8, 1}}, {{60, 15, 1}, {20, 5, 1}}});
}

// Accumulators that would fill the registers: fewer lanes at once.
TEST(Simd, ManySumsBetweenBarriers) {
  agree(R"(kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]]) {
    threadgroup uint shared[128];
    uint4 sums[5] = {i, i + 1, i + 2, i + 3, i + 4};
    for (uint k = 0; k < count % 16; ++k) {
      shared[t] = in[i + k];
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint d = 0; d < 4; ++d)
        for (uint e = 0; e < 5; ++e) sums[e] += uint4(shared[d], shared[t ^ d], shared[127 - t], e) * (e + 3);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    uint4 all = sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4];
    out[i] = all.x + all.y * 3 + all.z * 5 + all.w * 7;
  })",
        {{{1024, 1, 1}, {128, 1, 1}}, {{512, 1, 1}, {128, 1, 1}}});
}

// Sums of vectors, which a few lanes at a time make, between what all lanes do together: in loops that lanes leave
// apart, where only some lanes are, and with what each had before.
TEST(Simd, PartsForAFewLanesAtATime) {
  const std::string source = R"(
kernel void k(device uint* out, device const uint* in, constant uint& count, uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {
  device const uint4* quads = (device const uint4*)in;
  const uint mine = simd_prefix_inclusive_sum(in[i]) | 1;
  uint4 sum = mine;
  for (uint c = i; c < count; c += 64) sum += quads[c] * (mine + 2);
  const uint total = simd_sum(sum.x + 3 * sum.y + 5 * sum.z + 7 * sum.w);
  if (in[i] % 3 != 0) {
    uint4 other = uint4(total, mine, i, lane);
    for (uint c = lane; c < count / 4; c += 32) other = other * 5 + quads[c + i];
    sum ^= other;
  }
  ((device uint4*)out)[i] = sum * simd_broadcast(mine, 3) + total;
})";
  agree(source,
        {{{64, 1, 1}, {64, 1, 1}}, {{128, 1, 1}, {32, 1, 1}}, {{100, 1, 1}, {50, 1, 1}}, {{48, 1, 1}, {48, 1, 1}}});
  agree(source, {{{64, 1, 1}, {64, 1, 1}}}, /*count=*/0);
}

TEST(Simd, AFunctionThatCallsItself) {
  agree(R"(
    static uint turned(int x) { return x < 0 ? turned(-x) + 1 : uint(x) / 3; }
    kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) {
      out[i] = turned(int(in[i]) | 1) + count;
    })",
        kRows);
}

// Lanes that do not take part may be read for only where a page is there for the others.
TEST(Simd, NothingIsReadBehindTheLastPage) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* begin = static_cast<std::byte*>(mapped);
  ASSERT_EQ(mprotect(begin, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(begin + 2 * page, page, PROT_NONE), 0);
  const Kernel kernel(R"(
    kernel void k(device uint* out, device ushort* in, constant uint& count, uint i [[thread_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]]) {
      threadgroup uint shared[64];
      shared[t] = t;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      uint x = shared[63 - t];
      if (t >= count) x += (in - count)[t];
      if (t < 64 - count) x += in[t] * 1000;
      out[i] = x;
    })");
  const auto simd = kernel.with({.simdgroups = Simdgroups::kWhole});
  std::vector<std::uint32_t> out(64);
  for (std::uint32_t count = 0; count < 64; ++count) {
    // The first element is at the beginning of the page, then the last one at its end.
    for (std::byte* in : {begin + page, begin + 2 * page - (64 - count) * sizeof(std::uint16_t)}) {
      for (std::uint32_t i = 0; i < 64 - count; ++i)
        reinterpret_cast<std::uint16_t*>(in)[i] = static_cast<std::uint16_t>(i * 5);
      pipeline::Launch launch;
      launch.buffers[0] = out.data();
      launch.buffers[1] = in;
      launch.buffers[2] = &count;
      simd->launch(launch, {64, 1, 1}, {64, 1, 1});
      for (std::uint32_t t = 0; t < 64; ++t)
        ASSERT_EQ(out[t], 63 - t + (t >= count ? (t - count) * 5 : 0) + (t < 64 - count ? t * 5000 : 0));
    }
  }
  munmap(mapped, 3 * page);
}

// Whole simdgroups along y, not whole ones, threadgroups that end early, and some that have a depth.
const std::vector<Shape> kColumns = {{{3, 1024, 1}, {1, 1024, 1}}, {{5, 100, 1}, {1, 100, 1}}, {{2, 96, 1}, {1, 32, 1}},
                                     {{4, 70, 1}, {1, 64, 1}},     {{2, 33, 1}, {1, 33, 1}},   {{4, 64, 2}, {1, 32, 1}},
                                     {{1, 64, 2}, {1, 32, 2}},     {{3, 7, 1}, {1, 7, 1}}};

TEST(Simd, ThreadgroupsOfOneColumn) {
  agree(R"(#include <metal_stdlib>
  kernel void k(device uint* out, device uint* in, constant uint& count, uint3 i [[thread_position_in_grid]],
                uint3 n [[threads_per_grid]], uint3 within [[thread_position_in_threadgroup]],
                uint3 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                uint3 size [[threads_per_threadgroup]]) {
    threadgroup uint shared[1024];
    uint at = i.x + n.x * (i.y + n.y * i.z);
    shared[index] = in[at];
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    uint other = shared[(index + 1) % (size.x * size.y * size.z)];
    out[at] = metal::simd_sum(other) + within.y * 3 + within.z * 5 + group.x * 7 + group.y * 11 + lane * 13 +
              simdgroup * 17;
  })",
        kColumns);
}

// A sum that each thread makes of all, before its array is written again, and one in a loop.
TEST(Simd, WhatAllThreadsComputeAlike) {
  for (const std::vector<Shape>& shapes : {kColumns, kRows}) {
    agree(R"(#include <metal_stdlib>
    uint sum_of(threadgroup uint* all, uint size) {
      metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
      uint sum = all[0];
      for (uint i = 1; i < size; ++i) sum = sum * 3 + all[i];
      metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
      return sum;
    }
    kernel void k(device uint* out, device uint* in, constant uint& count, uint3 i [[thread_position_in_grid]],
                  uint3 n [[threads_per_grid]], uint index [[thread_index_in_threadgroup]],
                  uint3 size [[threads_per_threadgroup]]) {
      threadgroup uint shared[1024];
      uint at = i.x + n.x * (i.y + n.y * i.z);
      uint threads = size.x * size.y * size.z;
      shared[index] = in[at];
      uint first = sum_of(shared, threads);
      shared[index] = in[at] + first;
      uint second = sum_of(shared, threads);
      for (uint round = 0; round < 3; ++round) {
        shared[index] = second + round + index;
        second ^= sum_of(shared, threads);
      }
      out[at] = first + second;
    })",
          shapes);
  }
}

// Lanes that write what others have just read, and read what others have just written, with nothing between. Their
// places are not known to differ: what a thread cannot have changed itself, the compiler need not read again.
TEST(Simd, LanesThatCountOnGoingInStep) {
  for (const std::string change :
       {"tile[index] = tile[first + (lane + 1) % 32] * 3 + tile[first + (lane * 7 + round) % 32];",
        "in[at] += in[at - lane + (lane * 5 + round) % 32];",
        "if (lane % 3 != 0) in[at] += in[at - lane + (lane * 5 + round) % 32];"}) {
    agree(R"(
      kernel void k(device uint* out, device uint* in, constant uint& count, uint at [[thread_position_in_grid]],
                    uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
        threadgroup uint tile[1024];
        uint first = index - lane;
        tile[index] = in[at];
        for (uint round = 0; round < 5; ++round) {
)" + change + R"(
        }
        out[at] = tile[index] + in[at] + simd_sum(lane);
      })",
          {{{32, 1, 1}, {32, 1, 1}}, {{1024, 1, 1}, {64, 1, 1}}, {{2048, 1, 1}, {1024, 1, 1}}});
  }
}

// Forms for values that come again: the right one for each launch, and none for what is not the launch's own.
TEST(Simd, ValuesThatComeAgain) {
  const Kernel kernel(
      "kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) "
      "{ uint x = i; for (uint j = 0; j < 300; ++j) x = x * 1664525 + j % count; out[i] = x; }");
  const Shape shape = {{1 << 14, 1, 1}, {256, 1, 1}};
  const auto oracle = kernel.with({});
  const auto tiered = kernel.tiered();
  std::vector<Words> expected;
  for (std::uint32_t count = 1; count <= 12; ++count) expected.push_back(launched(*oracle, shape, 1 << 14, count));
  for (int round = 0; round < 30; ++round) {
    for (std::uint32_t count = 1; count <= 12; ++count) {
      // The last few come seldom, so that forms are given up and made again.
      if (count > 3 && round % 8 != 0) continue;
      ASSERT_EQ(launched(*tiered, shape, 1 << 14, count), expected[count - 1]) << count;
    }
  }
  std::uint32_t shared = 0;
  Words out(1 << 14);
  pipeline::Launch launch;
  launch.buffers[0] = out.data();
  launch.buffers[1] = out.data();
  launch.buffers[2] = &shared;
  launch.buffer_bytes[2] = sizeof shared;
  const auto specialised = kernel.specialised();
  for (shared = 1; shared <= 3; ++shared) {
    specialised->launch(launch, shape.threads, shape.group);
    EXPECT_EQ(out, expected[shared - 1]);
    tiered->launch(launch, shape.threads, shape.group);
    EXPECT_EQ(out, expected[shared - 1]);
  }
}

// The fast form comes in the background, and the results stay.
TEST(Simd, LaunchesBeforeAndAfterTheFastFormIsThere) {
  const frontend::Program program(
      "kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) "
      "{ uint x = in[i & 16383]; for (uint j = 0; j < 50; ++j) x = x * 1664525 + j; out[i & 16383] = x; }",
      {});
  const std::vector<std::byte> air = program.air_of("k");
  library::FunctionEntry entry;
  entry.name = "k";
  entry.bitcode = air;
  const auto pipeline = engine::make_tiered_pipeline(entry, {});
  const Words first = launched(*pipeline, {{1 << 14, 1, 1}, {256, 1, 1}}, 1 << 14, 0);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(launched(*pipeline, {{1 << 14, 1, 1}, {256, 1, 1}}, 1 << 14, 0), first);
  }
}

}  // namespace
}  // namespace anymps::metal
