#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "air_text.h"
#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/pipeline/pipeline.h"
#include "metal/runtime/reports.h"
#include "planted_bugs.h"

namespace anymps::metal {

// For messages of the tests.
void PrintTo(const pipeline::ValidationReport& report, std::ostream* out) { *out << report.text; }

namespace testing {
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }
}  // namespace testing

namespace {

using testing::AirText;
using testing::kOutside;
using testing::kPlanted;
using testing::kPrelude;
using testing::OwnedFunction;
using testing::Planted;

constexpr std::size_t kFloats = 64;
constexpr std::size_t kMargin = 4096;
constexpr std::byte kUntouched{0xA5};

// A buffer of floats with a margin on either side.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(float step) : bytes_(2 * kMargin + kFloats * sizeof(float), kUntouched) {
    for (std::size_t i = 0; i < kFloats; ++i) {
      const float value = step * static_cast<float>(i);
      std::memcpy(data() + i * sizeof value, &value, sizeof value);
    }
  }

  std::byte* data() { return bytes_.data() + kMargin; }
  float at(std::size_t index) {
    float value = 0;
    std::memcpy(&value, data() + index * sizeof value, sizeof value);
    return value;
  }
  bool margins_are_whole() const {
    const auto is_untouched = [](std::byte b) { return b == kUntouched; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kMargin, is_untouched) &&
           std::all_of(bytes_.end() - kMargin, bytes_.end(), is_untouched);
  }

 private:
  std::vector<std::byte> bytes_;
};

struct Ran {
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(0), GuardedBuffer(1), GuardedBuffer(0)};
  std::vector<pipeline::ValidationReport> reports;
};

AirText kernel_of(const std::string& body, const std::string& outside = "") {
  return AirText()
      .buffers(3)
      .threadgroup_buffer("dynamic")
      .builtin3("thread_position_in_grid")
      .builtin3("threadgroup_position_in_grid")
      .builtin("thread_index_in_threadgroup")
      .outside(kOutside + outside)
      .body(kPrelude + body);
}

Ran run_validated(const AirText& air, pipeline::Size threads = {64, 1, 1}, pipeline::Size group = {64, 1, 1},
                  bool pipeline_validates = true) {
  Ran ran;
  const OwnedFunction function(air);
  pipeline::Launch launch;
  for (unsigned i = 0; i < 3; ++i) {
    launch.buffers[i] = ran.buffers[i].data();
    launch.buffer_bytes[i] = kFloats * sizeof(float);
  }
  launch.threadgroup_bytes[0] = kFloats * sizeof(float);
  launch.validate = true;
  launch.reports = &ran.reports;
  engine::make_pipeline(function.entry, {.constants = {}, .validate = pipeline_validates})
      ->launch(launch, threads, group);
  return ran;
}

class Validation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("ANYMPS_VALIDATE_LOOPS", "10000", 1); }
};

class PlantedKernels : public Validation, public ::testing::WithParamInterface<Planted> {};

TEST_P(PlantedKernels, AreReportedForWhatTheyAre) {
  const Planted& planted = GetParam();
  const Ran ran = run_validated(kernel_of(planted.body), planted.threads, planted.group);
  for (const GuardedBuffer& buffer : ran.buffers) EXPECT_TRUE(buffer.margins_are_whole());
  if (!planted.fault) {
    EXPECT_TRUE(ran.reports.empty()) << ::testing::PrintToString(ran.reports);
    return;
  }
  ASSERT_FALSE(ran.reports.empty());
  for (const pipeline::ValidationReport& report : ran.reports) {
    EXPECT_EQ(report.fault, *planted.fault) << report.text;
    EXPECT_EQ(report.argument, planted.argument) << report.text;
    EXPECT_EQ(report.kernel, "k");
  }
}

INSTANTIATE_TEST_SUITE_P(Table, PlantedKernels, ::testing::ValuesIn(kPlanted),
                         [](const auto& planted) { return std::string(planted.param.name); });

TEST_F(Validation, TenBugsOfEachKindArePlanted) {
  std::map<pipeline::Fault, unsigned> counts;
  for (const Planted& planted : kPlanted) {
    if (planted.fault) ++counts[*planted.fault];
  }
  EXPECT_EQ(counts.size(), 6U);
  for (const auto& [fault, count] : counts) EXPECT_GE(count, 10U) << name_of(fault);
}

constexpr char kOneTooFar[] = R"(
  %p = getelementptr float, ptr addrspace(1) %own1, i64 1
  %x = load float, ptr addrspace(1) %p, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)";

TEST_F(Validation, AReportSaysWhatAndWhere) {
  Ran ran = run_validated(kernel_of(kOneTooFar), {66, 1, 1}, {16, 1, 1});
  ASSERT_EQ(ran.reports.size(), 2U);
  const pipeline::ValidationReport& load = ran.reports[0];
  EXPECT_EQ(load.access, "load");
  EXPECT_EQ(load.binding, 1);
  EXPECT_EQ(load.thread, (std::array<std::uint32_t, 3>{63, 0, 0}));
  EXPECT_EQ(load.threadgroup, (std::array<std::uint32_t, 3>{3, 0, 0}));
  EXPECT_EQ(load.offset, 256);
  EXPECT_EQ(load.size, 4U);
  EXPECT_EQ(load.count, 3U);
  EXPECT_EQ(load.text,
            "anymps validation: kernel k: out of bounds\n"
            "  load by thread (63, 0, 0), threadgroup (3, 0, 0), at site 0\n"
            "  buffer 1, b1: 4 bytes at byte offset 256 of 256\n"
            "  it gave 0\n"
            "  seen 3 times in this launch\n");
  EXPECT_EQ(ran.reports[1].access, "store");
  EXPECT_EQ(ran.reports[1].thread[0], 64U);
  EXPECT_EQ(ran.buffers[0].at(62), 63);
  EXPECT_EQ(ran.buffers[0].at(63), 0);
}

TEST_F(Validation, ARaceNamesBothThreads) {
  const Ran ran = run_validated(kernel_of(R"(
  br i1 %is_first, label %write, label %end
write:
  store i32 %gx, ptr addrspace(1) %b0, align 4
  br label %end
end:
  ret void
)"),
                                {4, 4, 1}, {2, 4, 1});
  ASSERT_EQ(ran.reports.size(), 1U);
  EXPECT_EQ(ran.reports[0].text,
            "anymps validation: kernel k: race\n"
            "  store by thread (2, 0, 0), threadgroup (1, 0, 0), at site 0\n"
            "  buffer 0, b0: 4 bytes at byte offset 0 of 256\n"
            "  nothing orders it after the store by thread (0, 0, 0), threadgroup (0, 0, 0), at site 0\n");
}

TEST_F(Validation, APlaceIsALineWhereThereIsDebugInformation) {
  const Ran ran = run_validated(kernel_of(R"(
  %p = getelementptr float, ptr addrspace(1) %own1, i64 1
  %x = load float, ptr addrspace(1) %p, align 4, !dbg !204
  %few = icmp ult i64 %l, 5
  br i1 %few, label %then, label %end
then:
  call void @air.wg.barrier(i32 2, i32 1), !dbg !205
  br i1 %is_first, label %loop, label %end
loop:
  br label %loop, !dbg !206
end:
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)",
                                          R"(
!llvm.dbg.cu = !{!200}
!llvm.module.flags = !{!207}
!200 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !201, emissionKind: LineTablesOnly)
!201 = !DIFile(filename: "shift.metal", directory: "")
!202 = !DISubroutineType(types: !{})
!203 = distinct !DISubprogram(name: "k", file: !201, line: 1, type: !202, unit: !200, spFlags: DISPFlagDefinition)
!204 = !DILocation(line: 12, column: 3, scope: !203)
!205 = !DILocation(line: 14, column: 3, scope: !203)
!206 = !DILocation(line: 17, column: 3, scope: !203)
!207 = !{i32 2, !"Debug Info Version", i32 3}
)"));
  std::map<pipeline::Fault, std::string> places;
  for (const pipeline::ValidationReport& report : ran.reports) places[report.fault] = report.place;
  EXPECT_EQ(places, (std::map<pipeline::Fault, std::string>{{pipeline::Fault::kOutOfBounds, "shift.metal:12"},
                                                            {pipeline::Fault::kDivergentBarrier, "shift.metal:14"},
                                                            {pipeline::Fault::kEndlessLoop, "shift.metal:17"}}));
}

TEST_F(Validation, WhatIsMisalignedIsDoneAllTheSameUnlessItIsAtomic) {
  Ran ran = run_validated(kernel_of(R"(
  %p = getelementptr i8, ptr addrspace(1) %b1, i64 6
  %x = load float, ptr addrspace(1) %p, align 4
  %y = fcmp ogt float %x, 0.0
  %z = uitofp i1 %y to float
  %q = getelementptr float, ptr addrspace(1) %b0, i64 1
  store float %z, ptr addrspace(1) %q, align 4
  %r = getelementptr i8, ptr addrspace(1) %b2, i64 2
  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %r, i32 1, i32 0, i32 2, i1 true)
  ret void
)"),
                          {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(ran.reports.size(), 2U);
  EXPECT_EQ(ran.buffers[0].at(1), 1);
  EXPECT_EQ(ran.buffers[2].at(0), 0);
}

TEST_F(Validation, OneLaunchOfAPlainPipelineMayAskForIt) {
  EXPECT_EQ(run_validated(kernel_of(kOneTooFar), {64, 1, 1}, {64, 1, 1}, /*pipeline_validates=*/false).reports.size(),
            1U);
}

// b0 holds the address of 64 floats.
constexpr char kThroughAnAddress[] = R"(
  %to = load ptr addrspace(1), ptr addrspace(1) %b0, align 8
  %p = getelementptr float, ptr addrspace(1) %to, i64 %i
  store float %number, ptr addrspace(1) %p, align 4
  ret void
)";

TEST_F(Validation, AnAddressFromMemoryIsTakenAtItsWord) {
  const OwnedFunction function(kernel_of(kThroughAnAddress));
  const auto pipeline = engine::make_pipeline(function.entry, {});
  std::vector<float> out(64);
  float* address = out.data();
  std::vector<pipeline::ValidationReport> reports;
  pipeline::Launch launch;
  launch.buffers = {&address, out.data(), out.data()};
  launch.buffer_bytes = {sizeof address, 256, 256};
  launch.threadgroup_bytes[0] = 256;
  launch.validate = true;
  launch.reports = &reports;
  pipeline->launch(launch, {64, 1, 1}, {64, 1, 1});
  EXPECT_TRUE(reports.empty()) << ::testing::PrintToString(reports);
  EXPECT_EQ(out[63], 63);
  static const float* end = nullptr;
  end = out.data() + 63;
  launch.is_device_memory = [](const void* address) { return address < end; };
  pipeline->launch(launch, {64, 1, 1}, {64, 1, 1});
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].fault, pipeline::Fault::kOutOfBounds);
  EXPECT_EQ(reports[0].argument, "");
  EXPECT_EQ(reports[0].thread[0], 63U);
  launch.is_device_memory = nullptr;
  address = nullptr;
  pipeline->launch(launch, {64, 1, 1}, {64, 1, 1});
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[1].thread[0], 0U);
}

TEST_F(Validation, AThreadgroupVariableHasItsNameInTheSource) {
  const Ran ran =
      run_validated(kernel_of("  store float 1.0, ptr addrspace(3) getelementptr (float, ptr addrspace(3) "
                              "@_ZZ4sumsPU9MTLdeviceDF16bE6scores, i64 -1), align 4\n  ret void\n",
                              "@_ZZ4sumsPU9MTLdeviceDF16bE6scores = internal addrspace(3) global float undef"));
  ASSERT_EQ(ran.reports.size(), 1U);
  EXPECT_EQ(ran.reports[0].argument, "scores");
}

TEST_F(Validation, AnEndlessLoopEndsTheLaunch) {
  Ran ran = run_validated(kernel_of(R"(
  %third = icmp eq i64 %i, 20
  br label %loop
loop:
  br i1 %third, label %loop, label %end
end:
  store float 1.0, ptr addrspace(1) %own0, align 4
  ret void
)"),
                          {64, 1, 1}, {16, 1, 1});
  ASSERT_EQ(ran.reports.size(), 1U);
  EXPECT_EQ(ran.buffers[0].at(15), 1);
  EXPECT_EQ(ran.buffers[0].at(20), 0);
  EXPECT_EQ(ran.buffers[0].at(32), 0);
}

// What GPUs forgive and kernels rely on is reported where it is asked for.
TEST_F(Validation, StrictlyNothingIsForgiven) {
  const std::pair<pipeline::Fault, const char*> forgiven[] = {
      // A barrier for other memory.
      {pipeline::Fault::kRace, R"(
  store float %number, ptr addrspace(3) %own, align 4
  call void @air.wg.barrier(i32 1, i32 1)
  %x = load float, ptr addrspace(3) %other, align 4
  store float %x, ptr addrspace(1) %own0, align 4
  ret void
)"},
      // A vector at a multiple of its element.
      {pipeline::Fault::kMisaligned, R"(
  %p = getelementptr float, ptr addrspace(1) %b1, i64 1
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = extractelement <4 x float> %x, i64 0
  store float %y, ptr addrspace(1) %own0, align 4
  ret void
)"},
      // Threads that leave before the first barrier.
      {pipeline::Fault::kDivergentBarrier, R"(
  %many = icmp uge i64 %l, 40
  br i1 %many, label %end, label %work
work:
  call void @air.wg.barrier(i32 2, i32 1)
  store float %number, ptr addrspace(1) %own0, align 4
  br label %end
end:
  ret void
)"},
  };
  for (const auto& [fault, body] : forgiven) {
    EXPECT_TRUE(run_validated(kernel_of(body)).reports.empty()) << body;
    setenv("ANYMPS_VALIDATE", "strict", 1);
    const Ran ran = run_validated(kernel_of(body));
    unsetenv("ANYMPS_VALIDATE");
    ASSERT_EQ(ran.reports.size(), 1U) << body;
    EXPECT_EQ(ran.reports[0].fault, fault);
  }
}

TEST_F(Validation, ReportsThatNobodyCollectsArePrintedOnceAndKept) {
  const OwnedFunction function(kernel_of(kOneTooFar));
  const auto pipeline = engine::make_pipeline(function.entry, {.constants = {}, .validate = true});
  std::vector<float> floats(64);
  pipeline::Launch launch;
  launch.buffers = {floats.data(), floats.data(), floats.data()};
  launch.buffer_bytes = {256, 252, 256};
  launch.threadgroup_bytes[0] = 256;
  runtime::take_published();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) pipeline->launch(launch, {63, 1, 1}, {1, 1, 1});
  const std::string printed = ::testing::internal::GetCapturedStderr();
  std::size_t races = 0;
  std::vector<pipeline::ValidationReport> reports = runtime::take_published();
  for (const pipeline::ValidationReport& report : reports)
    races += static_cast<std::size_t>(report.fault == pipeline::Fault::kRace);
  ASSERT_EQ(reports.size(), 2U) << ::testing::PrintToString(reports);
  EXPECT_EQ(races, 1U);  // b0 and b1 are the same memory
  EXPECT_EQ(reports[0].fault, pipeline::Fault::kOutOfBounds);
  EXPECT_EQ(reports[0].count, 3U);
  const std::string line = "anymps validation: kernel k: out of bounds\n";
  const std::size_t first = printed.find(line);
  EXPECT_NE(first, std::string::npos) << printed;
  EXPECT_EQ(printed.find(line, first + 1), std::string::npos) << printed;
  EXPECT_TRUE(runtime::take_published().empty());
}

TEST_F(Validation, TheTableGoesThroughBytesAndBack) {
  const OwnedFunction function(kernel_of(kOneTooFar));
  const runtime::CompiledKernel kernel =
      engine::compile_kernel(function.bytes, "k", {.constants = {}, .validate = true});
  ASSERT_EQ(kernel.validation.sites.size(), 2U);
  const std::vector<std::byte> bytes = engine::pack(kernel);
  const auto back = engine::unpack(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->object, kernel.object);
  ASSERT_EQ(back->validation.sites.size(), 2U);
  EXPECT_EQ(back->validation.sites[1].kind, lower::transform::ValidationSite::Kind::kStore);
  ASSERT_EQ(back->validation.objects.size(), 2U);
  EXPECT_EQ(back->validation.objects[0].parameter, 1U);
  for (std::size_t size = 0; size < bytes.size() - kernel.object.size(); ++size) {
    EXPECT_FALSE(engine::unpack(std::span(bytes).first(size))) << size;
  }
}

}  // namespace
}  // namespace anymps::metal
