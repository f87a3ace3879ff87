// What goes wrong in a kernel is an exception, or is told before the process ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "air_text.h"
#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/frontend/program.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/pipeline/pipeline.h"
#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::AirText;
using testing::OwnedFunction;
using testing::run_source;
using testing::SourceRun;

constexpr testing::Grid kMany{.threads = 100000, .group = 32};

void run_body(const std::string& outside, const std::string& body, bool validate = false) {
  const OwnedFunction function(AirText().buffers(1).outside(outside).body(body));
  float out = 0;
  pipeline::Launch launch;
  launch.buffers[0] = &out;
  launch.buffer_bytes[0] = sizeof out;
  launch.validate = validate;
  engine::make_pipeline(function.entry, {})->launch(launch, {1, 1, 1}, {1, 1, 1});
}

template <typename Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const pipeline::KernelError& error) {
    return error.what();
  }
  return "";
}

// In ordinary mode and in the validator's.
void expect_trap(const std::string& outside, const std::string& body) {
  for (const bool validate : {false, true}) {
    EXPECT_EQ(error_of([&] { run_body(outside, body, validate); }),
              "k: it came to a trap, or to code that must not be reached")
        << validate;
  }
}

TEST(KernelGuard, ATrap) { expect_trap("declare void @llvm.trap()", "  call void @llvm.trap()\n  ret void\n"); }

// The store keeps the optimiser from taking the whole kernel for one that is never run.
TEST(KernelGuard, CodeThatMustNotBeReached) {
  expect_trap("", "  store volatile float 1.0, ptr addrspace(1) %b0\n  unreachable\n");
}

constexpr const char* kRecursion = R"(
  int depth(device int* o, int n) { int a[64]; for (int i = 0; i < 64; ++i) a[i] = o[i] + n;
    if (a[o[0] & 63] == -1) return 0; return depth(o, n + 1) + a[n & 63]; }
  kernel void k(device int* o) { o[0] = depth(o, 0); })";

TEST(KernelGuard, RecursionWithoutEnd) {
  std::vector<int> out(64);
  for (const bool validate : {false, true}) {
    const SourceRun how{.options = {}, .lowering = {.validate = validate}, .threadgroup_bytes = {}};
    EXPECT_EQ(error_of([&] { run_source(kRecursion, "k", {out.data()}, {}, how); }),
              "k: it used up its stack of 64 MiB, by recursion or by large arrays");
    // On all cores, and again.
    EXPECT_NE(error_of([&] { run_source(kRecursion, "k", {out.data()}, kMany, how); }), "");
  }
  EXPECT_EQ(testing::results<int>("kernel void k(device int* o) { o[0] = 7; }", 1), std::vector{7});
}

TEST(KernelGuard, ArraysThatAreTooLargeTogether) {
  const char* source = R"(
    kernel void k(device int* o, constant int& n) {
      int a[100000]; int b[100000]; int c[100000];
      for (int i = 0; i < n; ++i) { a[i] = o[i]; b[o[i]] = i; c[a[i]] = b[i]; }
      o[0] = a[n] + b[n] + c[n]; })";
  std::vector<int> out(64);
  int n = 3;
  EXPECT_EQ(error_of([&] { run_source(source, "k", {out.data(), &n}); }),
            "k: its variables take 1200000 bytes of a thread; there are 1048576");
}

// Just within the bound, on every engine.
TEST(KernelGuard, LargeArrays) {
  const char* source = R"(
    kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
      int a[250000];
      for (int j = 0; j < 250000; j += 1000) a[j] = o[i] + j;
      metal::threadgroup_barrier(metal::mem_flags::mem_device);
      o[i] = a[(o[i] * 1000) % 250000]; })";
  for (const auto simdgroups : {lower::vectorize::Simdgroups::kNone, lower::vectorize::Simdgroups::kWhole}) {
    for (const bool coroutines : {false, true}) {
      SourceRun how;
      how.lowering.simdgroups = simdgroups;
      how.lowering.force_coroutines = coroutines;
      std::vector<int> out(64);
      for (int i = 0; i < 64; ++i) out[i] = i;
      run_source(source, "k", {out.data()}, {.threads = 64, .group = 64}, how);
      for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], i + i * 1000);
    }
  }
}

TEST(KernelGuard, TheEdgesOfThreadgroupMemory) {
  const char* source = R"(
    kernel void k(device int* o) { threadgroup int t[16]; volatile threadgroup int* p = t; p[o[0]] = 1; })";
  for (int index : {1 << 16, -(1 << 16)}) {
    EXPECT_EQ(error_of([&] { run_source(source, "k", {&index}); }), "k: it reached beyond its threadgroup memory");
  }
}

// Each in a process that is started anew: this one has threads.
class KernelGuardDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(KernelGuardDeathTest, AWildPointer) {
  EXPECT_EXIT(run_body("", "  store volatile float 1.0, ptr inttoptr (i64 4096 to ptr)\n  ret void\n"),
              ::testing::KilledBySignal(SIGSEGV), "kernel 'k' reached memory that is not there, at 0x1000");
}

constexpr const char* kEndless = R"(
  kernel void k(volatile device int* o, uint i [[thread_position_in_grid]]) { while (o[i % 2] == 0) {} })";
// Its threads wait for each other each time.
constexpr const char* kEndlessBarrier = R"(
  kernel void k(volatile device int* o, uint i [[thread_position_in_grid]]) {
    while (o[i % 2] == 0) metal::threadgroup_barrier(metal::mem_flags::mem_device); })";

[[noreturn]] void run_beyond_the_limit(const char* source, bool validate, const char* seconds = "0.2") {
  ::setenv("ANYMPS_KERNEL_SECONDS", seconds, 1);
  ::setenv("ANYMPS_VALIDATE_LOOPS", "1000000000000", 1);  // the sanitiser would end them first on a fast machine
  std::vector<int> out(2);
  const SourceRun how{.options = {}, .lowering = {.validate = validate}, .threadgroup_bytes = {}};
  std::fputs(error_of([&] { run_source(source, "k", {out.data()}, kMany, how); }).c_str(), stderr);
  std::exit(3);
}

TEST_F(KernelGuardDeathTest, TheTimeLimit) {
  for (const char* source : {kEndless, kEndlessBarrier}) {
    for (const bool validate : {false, true}) {
      EXPECT_EXIT(run_beyond_the_limit(source, validate), ::testing::ExitedWithCode(3),
                  "k: it ran for more than 0.2 s, which ANYMPS_KERNEL_SECONDS allows");
    }
  }
}

TEST_F(KernelGuardDeathTest, ATimeLimitThatIsNone) {
  for (const char* seconds : {"soon", "2s", "0", "-1"}) {
    EXPECT_EXIT(run_beyond_the_limit(kEndless, false, seconds), ::testing::ExitedWithCode(3),
                std::string("ANYMPS_KERNEL_SECONDS takes a number above 0, not ") + seconds);
  }
}

void interpret(const char* source, const char* kernel, int* buffer) {
  const std::vector<std::byte> air = frontend::Program(source, {}).air_of(kernel);
  library::FunctionEntry function;
  function.name = kernel;
  function.bitcode = air;
  pipeline::Launch launch;
  launch.buffers[0] = buffer;
  interpret::make_interpreter(function, {})->launch(launch, {64, 1, 1}, {64, 1, 1});
}

[[noreturn]] void interpret_beyond_the_limit(const char* source) {
  ::setenv("ANYMPS_KERNEL_SECONDS", "0.2", 1);
  std::vector<int> out(2);
  std::fputs(error_of([&] { interpret(source, "k", out.data()); }).c_str(), stderr);
  std::exit(3);
}

TEST_F(KernelGuardDeathTest, TheTimeLimitOfTheInterpreter) {
  for (const char* source : {kEndless, kEndlessBarrier}) {
    EXPECT_EXIT(interpret_beyond_the_limit(source), ::testing::ExitedWithCode(3),
                "k: it ran for more than 0.2 s, which ANYMPS_KERNEL_SECONDS allows");
  }
}

TEST(KernelGuard, RecursionInTheInterpreter) {
  std::vector<int> out(64);
  EXPECT_EQ(error_of([&] { interpret(kRecursion, "k", out.data()); }), "k: it calls itself without end");
}

void interrupt_after(int milliseconds) {
  std::thread([milliseconds] {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(::getpid(), SIGINT);
  }).detach();
}

volatile std::sig_atomic_t interrupted = 0;

[[noreturn]] void run_until_interrupted() {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  interrupt_after(1500);
  std::vector<int> out(2);
  std::fputs(error_of([&] { run_source(kEndless, "k", {out.data()}, kMany); }).c_str(), stderr);
  const auto next = testing::results<int>("kernel void k(device int* o) { o[0] = 7; }", 1);
  std::exit(interrupted == 1 && next[0] == 7 ? 3 : 4);
}

// A program's own handler is called, and the launch ends; the next one runs.
TEST_F(KernelGuardDeathTest, AnInterrupt) {
  EXPECT_EXIT(run_until_interrupted(), ::testing::ExitedWithCode(3), "k: it was interrupted");
}

void run_without_handler() {
  std::signal(SIGINT, SIG_DFL);  // a shell's background jobs ignore it
  interrupt_after(700);
  std::vector<int> out(2);
  run_source(kEndless, "k", {out.data()}, kMany);
}

// A process without a handler for it ends, as ever.
TEST_F(KernelGuardDeathTest, AnInterruptThatNobodyHandles) {
  EXPECT_EXIT(run_without_handler(), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace anymps::metal
