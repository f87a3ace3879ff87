// Kernels in the sandbox: the same results, and faults that end nothing but the sandbox.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "air_text.h"
#include "gpu/forked_child.h"
#include "gpu/support/confine.h"
#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/sandbox/box.h"
#include "metal/sandbox/boxed_pipeline.h"
#include "metal/sandbox/messages.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;

constexpr const char* kKernels = R"(
#include <metal_stdlib>
using namespace metal;
kernel void wave(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] = sin(x[i]) * by; }
kernel void sums(device float* out, device const float* in, threadgroup float* part, uint i [[thread_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                 uint n [[threads_per_threadgroup]]) {
  part[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_of = n / 2; half_of != 0; half_of /= 2) {
    if (t < half_of) part[t] += part[t + half_of];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) out[g] = part[0];
}
kernel void count(device atomic_uint* counters, device const uint* in, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&counters[in[i] % 4], 1u, memory_order_relaxed);
}
kernel void lanes(device float* x, uint i [[thread_position_in_grid]]) { x[i] = simd_sum(x[i]) + x[i]; }
kernel void shift(device float* to, device const float* from, uint i [[thread_position_in_grid]]) { to[i] = from[i]; }
kernel void chain(volatile device int* a, volatile device int* b) { a[1] = 5; b[1] = b[0] + 1; }
kernel void endless(device atomic_uint* x) { while (atomic_load_explicit(x, memory_order_relaxed) != 7) {} }
kernel void outside(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = 1; }
kernel void pointers(device float* out, device float* constant* from, uint i [[thread_position_in_grid]]) {
  out[i] = from[0][i];
}
struct Held { device float* values; };
kernel void held(device float* out, constant Held& from, uint i [[thread_position_in_grid]]) { out[i] = from.values[i]; }
)";

class Sandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::support::why_not_confined().empty()) GTEST_SKIP() << gpu::support::why_not_confined();
    sandbox::set_box_folder(ANYMPS_BOX_FOLDER);
  }

  static const frontend::Program& program() {
    static const auto* const compiled = new frontend::Program(kKernels, {});
    return *compiled;
  }

  static std::shared_ptr<pipeline::Pipeline> make(const std::string& kernel, bool boxed = true) {
    const std::vector<std::byte> air = program().air_of(kernel);
    library::FunctionEntry function;
    function.name = kernel;
    function.bitcode = air;
    return boxed ? sandbox::make_boxed_pipeline(function, {}, "oracle") : engine::make_pipeline(function, {});
  }

  // Binds vectors at 0, 1, ...
  template <typename... Vectors>
  static pipeline::Launch bound(Vectors&... vectors) {
    pipeline::Launch launch;
    unsigned binding = 0;
    const auto bind = [&](auto& vector) {
      launch.buffers[binding] = vector.data();
      launch.buffer_bytes[binding++] = vector.size() * sizeof vector[0];
    };
    (bind(vectors), ...);
    return launch;
  }

  static std::string refusal_of(pipeline::Pipeline& pipeline, const pipeline::Launch& launch) {
    try {
      pipeline.launch(launch, {1, 1, 1}, {1, 1, 1});
    } catch (const pipeline::KernelError& error) {
      return error.what();
    }
    return "none";
  }

  static std::string refusal_of(const std::string& kernel) {
    try {
      make(kernel);
    } catch (const pipeline::KernelError& error) {
      return error.what();
    }
    return "none";
  }

  static OwnedFunction wild() {
    return OwnedFunction(
        AirText().buffers(1).body("  store volatile float 1.0, ptr inttoptr (i64 4096 to ptr)\n  ret void\n"));
  }

  static bool waves() {
    std::vector<float> x(64, 1.0F);
    std::vector<float> by = {2.0F};
    make("wave")->launch(bound(x, by), {64, 1, 1}, {32, 1, 1});
    return x[63] != 1.0F;
  }
};

std::vector<float> counted_up(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

TEST_F(Sandbox, ResultsAreTheSame) {
  std::vector<std::vector<float>> results;
  std::vector<std::vector<std::uint32_t>> counts;
  for (const bool boxed : {false, true}) {
    std::vector<float> x = counted_up(1000);
    std::vector<float> by = {3.0F};
    make("wave", boxed)->launch(bound(x, by), {1000, 1, 1}, {256, 1, 1});
    results.push_back(x);
    std::vector<float> out(4);
    pipeline::Launch launch = bound(out, x);
    launch.threadgroup_bytes[0] = 64 * sizeof(float);
    make("sums", boxed)->launch(launch, {256, 1, 1}, {64, 1, 1});
    results.push_back(out);
    make("lanes", boxed)->launch(bound(x), {1000, 1, 1}, {100, 1, 1});
    results.push_back(x);
    std::vector<std::uint32_t> counters(4);
    std::vector<std::uint32_t> numbers(100'003);
    std::iota(numbers.begin(), numbers.end(), 0U);
    make("count", boxed)->launch(bound(counters, numbers), {100'003, 1, 1}, {128, 1, 1});
    counts.push_back(counters);
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i], results[i + 3]) << i;
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_EQ(counts[1], (std::vector<std::uint32_t>{25001, 25001, 25001, 25000}));
}

TEST_F(Sandbox, ASignatureIsTheSame) {
  const auto boxed = make("sums");
  const auto plain = make("sums", false);
  sandbox::Answer first;
  sandbox::Answer second;
  first.signature = boxed->signature();
  second.signature = plain->signature();
  EXPECT_EQ(sandbox::pack(first), sandbox::pack(second));
  EXPECT_EQ(boxed->route(), plain->route());
}

TEST_F(Sandbox, BuffersThatOverlapDoSoThere) {
  for (const bool boxed : {false, true}) {
    std::vector<std::int32_t> memory(64);
    pipeline::Launch launch;
    launch.buffers[0] = memory.data();
    launch.buffer_bytes[0] = 32 * sizeof(std::int32_t);
    launch.buffers[1] = memory.data() + 1;
    launch.buffer_bytes[1] = 63 * sizeof(std::int32_t);
    make("chain", boxed)->launch(launch, {1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(memory[1], 5) << boxed;
    EXPECT_EQ(memory[2], 6) << boxed;
  }
}

TEST_F(Sandbox, WhatIsOnlyReadIsNotWritten) {
  std::vector<float> to(4);
  pipeline::Launch launch = bound(to);
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  launch.buffers[1] = page;
  launch.buffer_bytes[1] = 4096;
  EXPECT_NO_THROW(make("shift")->launch(launch, {4, 1, 1}, {4, 1, 1}));
  ::munmap(page, 4096);
}

TEST_F(Sandbox, AWildPointerIsAnErrorAndThisProcessLivesOn) {
  const OwnedFunction function = wild();
  const auto pipeline = sandbox::make_boxed_pipeline(function.entry, {}, "oracle");
  const auto other = make("lanes");
  std::vector<float> x = {5};
  const std::string refusal = refusal_of(*pipeline, bound(x));
  EXPECT_NE(refusal.find("kernel 'k' crashed in the sandbox: signal 11 (Segmentation fault)"), std::string::npos)
      << refusal;
  EXPECT_EQ(x[0], 5);
  // The next launch has a new one, in which what was made before is made again.
  other->launch(bound(x), {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(x[0], 10);
  EXPECT_EQ(refusal_of(*pipeline, bound(x)), refusal);
}

TEST_F(Sandbox, AnEndlessKernelIsEnded) {
  ::setenv("ANYMPS_SANDBOX_SECONDS", "1", 1);
  std::vector<std::uint32_t> x = {0};
  const auto pipeline = make("endless");
  EXPECT_EQ(
      refusal_of(*pipeline, bound(x)),
      "kernel 'endless' ran for more than 1 s in the sandbox, and was ended (ANYMPS_SANDBOX_SECONDS sets the limit)");
  x = {7};
  EXPECT_EQ(refusal_of(*pipeline, bound(x)), "none");
  ::setenv("ANYMPS_SANDBOX_SECONDS", "soon", 1);
  EXPECT_EQ(refusal_of(*pipeline, bound(x)), "endless: ANYMPS_SANDBOX_SECONDS takes a whole number above 0, not soon");
  ::unsetenv("ANYMPS_SANDBOX_SECONDS");
}

TEST_F(Sandbox, RefusesWhatItCannotShare) {
  std::vector<float> x(4);
  pipeline::Launch launch = bound(x);
  launch.buffer_bytes[0] = 0;
  EXPECT_NE(refusal_of(*make("lanes"), launch).find("lanes: how long the buffer of argument 0 is, is not known"),
            std::string::npos);
  for (const char* kernel : {"pointers", "held"}) {
    EXPECT_NE(refusal_of(kernel).find("argument 1 (from) holds addresses of buffers"), std::string::npos)
        << refusal_of(kernel);
  }
}

TEST_F(Sandbox, RefusalsAreTheEngines) {
  const OwnedFunction function = wild();
  library::FunctionEntry damaged = function.entry;
  damaged.bitcode = damaged.bitcode.first(damaged.bitcode.size() / 2);
  std::string plain;
  std::string boxed;
  try {
    engine::make_pipeline(damaged, {});
  } catch (const std::exception& error) {
    plain = error.what();
  }
  try {
    sandbox::make_boxed_pipeline(damaged, {}, "oracle");
  } catch (const pipeline::KernelError& error) {
    boxed = error.what();
  }
  EXPECT_EQ(plain, boxed);
  EXPECT_FALSE(boxed.empty());
  std::vector<float> x(4);
  EXPECT_THROW(make("lanes")->launch(bound(x), {4, 1, 1}, {2000, 1, 1}), pipeline::KernelError);
  EXPECT_THROW(make("lanes")->launch({}, {4, 1, 1}, {4, 1, 1}), pipeline::KernelError);
}

TEST_F(Sandbox, TheSanitiserReportsFromThere) {
  std::vector<float> x(4);
  std::vector<pipeline::ValidationReport> reports;
  pipeline::Launch launch = bound(x);
  launch.validate = true;
  launch.reports = &reports;
  make("outside")->launch(launch, {4, 1, 1}, {4, 1, 1});
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].fault, pipeline::Fault::kOutOfBounds);
  EXPECT_EQ(reports[0].binding, 0);
  EXPECT_EQ(reports[0].offset, 16);
}

TEST_F(Sandbox, AForkHasItsOwn) {
  if (!gpu::kForksAmongBusyThreads) GTEST_SKIP();
  ASSERT_TRUE(waves());
  EXPECT_TRUE(gpu::holds_in_child([] { return waves(); }));
  EXPECT_TRUE(waves());
}

// Also while a kernel runs that does not end: it becomes this process's child when its parent is gone, and ends.
TEST_F(Sandbox, EndsWithItsParent) {
  if (!gpu::kForksAmongBusyThreads) GTEST_SKIP();
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const auto pipeline = make("endless");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = gpu::start_child([&] {
    if (!waves()) return false;
    (void)!::write(ends[1], "x", 1);
    std::vector<std::uint32_t> x = {0};
    pipeline->launch(bound(x), {1, 1, 1}, {1, 1, 1});
    return false;
  });
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // for the kernel to be launched
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  pid_t orphan = 0;
  for (int tries = 0; tries < 500; ++tries) {
    orphan = ::waitpid(-1, nullptr, WNOHANG);
    if (orphan > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(orphan, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_TRUE(waves());
}

TEST(SandboxMessages, AreReadWithCare) {
  sandbox::Answer answer;
  answer.signature.kernel = "k";
  answer.signature.arguments.emplace_back().members.emplace_back().name = "m";
  answer.signature.constants.emplace_back().name = "c";
  answer.reports.emplace_back().text = "t";
  const std::vector<std::byte> whole = sandbox::pack(answer);
  ASSERT_TRUE(sandbox::unpack_answer(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(sandbox::unpack_answer(std::span(whole).first(size)).has_value()) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] = std::byte{0xff};
    const auto read = sandbox::unpack_answer(damaged);
    if (!read) continue;
    for (const air::Argument& argument : read->signature.arguments)
      EXPECT_LE(argument.binding + argument.count, air::kMaxBindings);
  }
}

}  // namespace
}  // namespace anymps::metal
