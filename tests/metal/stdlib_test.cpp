// Metal's standard library by kernels that check themselves: stdlib/*.metal, a file for each part of the specification.
// Each runs on all engines, and those that speak of fast math with it too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "metal/engine/make_pipeline.h"
#include "metal/frontend/program.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal {
namespace {

namespace fs = std::filesystem;

// As in stdlib/check.h.
struct Report {
  std::uint32_t checks = 0;
  std::uint32_t failures = 0;
  std::uint32_t lines[62] = {};
};

constexpr std::uint32_t kSectionThreads = 64;

std::vector<fs::path> sections() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(ANYMPS_STDLIB_TESTS)) {
    if (entry.path().extension() == ".metal") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::string file_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void run_section(pipeline::Pipeline& pipeline, const std::string& what) {
  Report report;
  pipeline::Launch launch;
  launch.buffers[0] = &report;
  pipeline.launch(launch, {kSectionThreads, 1, 1}, {kSectionThreads, 1, 1});
  EXPECT_GT(report.checks, 0U) << what << " checked nothing";
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(report.failures, std::size(report.lines)); ++i) {
    // The first that failed in each thread, told once.
    if (i == 0 || report.lines[i] != report.lines[i - 1]) ADD_FAILURE() << what << ", line " << report.lines[i];
  }
  EXPECT_EQ(report.failures, 0U) << what;
}

class Section : public ::testing::TestWithParam<fs::path> {};

TEST_P(Section, HoldsOnAllEngines) {
  const std::string text = file_text(GetParam());
  for (const bool fast_math : {false, true}) {
    if (fast_math && text.find("fast") == std::string::npos) continue;
    frontend::SourceOptions options;
    options.name = GetParam().filename();
    options.folders = {ANYMPS_STDLIB_TESTS};
    options.fast_math = fast_math;
    const frontend::Program program(text, options);
    EXPECT_EQ(program.warnings(), "");
    EXPECT_FALSE(program.kernels().empty());
    for (const std::string& kernel : program.kernels()) {
      const std::vector<std::byte> air = program.air_of(kernel);
      library::FunctionEntry function;
      function.name = kernel;
      function.bitcode = air;
      const std::string what = options.name + ": " + kernel + (fast_math ? ", fast" : "");
      run_section(*engine::make_pipeline(function, {}), what + ", compiled");
      run_section(*engine::make_pipeline(function, {.simdgroups = lower::vectorize::Simdgroups::kWhole}),
                  what + ", many lanes at once");
      run_section(*interpret::make_interpreter(function, {}), what + ", interpreted");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stdlib, Section, ::testing::ValuesIn(sections()),
                         [](const auto& section) { return section.param.stem().string(); });

}  // namespace
}  // namespace anymps::metal
