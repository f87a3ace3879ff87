// Kernels that run many lanes at once: that they do, and that they leave what one thread after the other leaves. What
// lanes do together is compared in interpreter_test.cpp, for every function and type.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "metal/engine/compiler.h"
#include "metal/interpret/interpreter.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using lower::Simdgroups;

struct Shape {
  Size threads;
  Size group;
};

class Kernel {
 public:
  explicit Kernel(const std::string& source) : program_("using namespace metal;\n" + source, {}) {
    air_ = program_.air_of("k");
    entry_.name = "k";
    entry_.bitcode = air_;
  }

  std::shared_ptr<Pipeline> with(const lower::LoweringOptions& options) const { return make_pipeline(entry_, options); }
  std::shared_ptr<Pipeline> interpreted() const { return interpret::make_interpreter(entry_, {}); }
  std::string declined(Simdgroups simdgroups = Simdgroups::kWhole) const {
    return engine::compile_kernel(air_, "k", {.simdgroups = simdgroups}).declined;
  }

 private:
  const frontend::Program program_;
  std::vector<std::byte> air_;
  FunctionEntry entry_;
};

using Words = std::vector<std::uint32_t>;

Words words(std::size_t count) {
  Words values(count);
  std::uint32_t random = 12345;
  for (std::uint32_t& value : values) value = random = random * 1664525 + 1013904223;
  return values;
}

Words launched(Pipeline& pipeline, const Shape& shape, std::size_t size, std::uint32_t count) {
  Words out(size, 7);
  Words in = words(size);
  Launch launch;
  launch.buffers[0] = out.data();
  launch.buffers[1] = in.data();
  launch.buffers[2] = &count;
  pipeline.launch(launch, shape.threads, shape.group);
  return out;
}

// Kernels take (device uint* out, device uint* in, constant uint& count, ...) here.
void agree(const std::string& source, const std::vector<Shape>& shapes, std::uint32_t count = 1000,
           std::size_t size = 1 << 14) {
  const Kernel kernel(source);
  EXPECT_EQ(kernel.declined(), "");
  const auto simd = kernel.with({.simdgroups = Simdgroups::kWhole});
  const auto oracle = kernel.with({});
  const auto interpreter = kernel.interpreted();
  for (const Shape& shape : shapes) {
    const Words one = launched(*oracle, shape, size, count);
    EXPECT_EQ(launched(*simd, shape, size, count), one)
        << shape.threads[0] << " x " << shape.threads[1] << " by " << shape.group[0] << " x " << shape.group[1];
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
  EXPECT_EQ(kernel.declined(Simdgroups::kAny), "");
  EXPECT_EQ(kernel.with({.simdgroups = Simdgroups::kWhole})->route(), lower::Route::kSimdLoop);
  EXPECT_EQ(kernel.with({})->route(), lower::Route::kThreadLoop);
}

// The fast form comes in the background, and the results stay.
TEST(Simd, LaunchesBeforeAndAfterTheFastFormIsThere) {
  const frontend::Program program(
      "kernel void k(device uint* out, device uint* in, constant uint& count, uint i [[thread_position_in_grid]]) "
      "{ uint x = in[i & 16383]; for (uint j = 0; j < 50; ++j) x = x * 1664525 + j; out[i & 16383] = x; }",
      {});
  const std::vector<std::byte> air = program.air_of("k");
  FunctionEntry entry;
  entry.name = "k";
  entry.bitcode = air;
  const auto pipeline = make_tiered_pipeline(entry, {});
  const Words first = launched(*pipeline, {{1 << 14, 1, 1}, {256, 1, 1}}, 1 << 14, 0);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(launched(*pipeline, {{1 << 14, 1, 1}, {256, 1, 1}}, 1 << 14, 0), first);
  }
}

}  // namespace
}  // namespace anymps::metal
