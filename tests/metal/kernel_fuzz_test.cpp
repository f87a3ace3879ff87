// Random kernels on all engines, a glance of what kernel_fuzz does for longer, and what that has found.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kernel_reducer.h"
#include "kernel_trial.h"
#include "random_kernel.h"

namespace anymps::fuzz {
namespace {

void expect_agreement(const std::string& source) {
  const Trial trial = try_kernel(source);
  ASSERT_TRUE(trial.compiles) << trial.refusal << source;
  EXPECT_FALSE(trial.disagreement) << trial.disagreement->text() << "\n" << source;
}

// In a few parts, because each test is a process.
class RandomKernels : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomKernels, AreTheSameOnAllEngines) {
  constexpr unsigned kEach = 15;
  for (unsigned i = 0; i < kEach; ++i) {
    const unsigned seed = GetParam() * kEach + i + 1;
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_agreement(random_kernel(seed).source());
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomKernels, ::testing::Range(0U, 4U));

// Kernels of which every result is determined: the sanitiser finds no race, no index outside, no divergent barrier.
TEST(RandomKernels, HaveNoFaults) {
  for (unsigned seed = 1; seed <= 15; ++seed) {
    const std::string source = random_kernel(seed).source();
    EXPECT_EQ(faults_of(source), "") << "seed " << seed << "\n" << source;
  }
}

TEST(RandomKernels, AreThoseOfTheirSeeds) {
  EXPECT_EQ(random_kernel(5).source(), random_kernel(5).source());
  EXPECT_NE(random_kernel(5).source(), random_kernel(6).source());
}

TEST(RandomKernels, SayHowTheyAreLaunched) {
  const KernelProgram program = random_kernel(7);
  EXPECT_EQ(text_of(plan_of(program.source())), text_of(program.plan));
}

TEST(KernelReducer, LeavesWhatIsLookedFor) {
  KernelProgram program;
  program.plan.shapes = {{.grid = {64, 1}, .group = {32, 1}}, {.grid = {9, 1}, .group = {3, 1}}};
  const Statement wanted{.text = "x = f((a + b) * (c + wanted));"};
  const Statement other{.text = "y = 1;"};
  const Statement inner{.blocks = {{.head = "if (c) {", .body = {other, wanted, other}}}, .tail = "}"};
  program.body = {other, other, inner, other};
  const auto has_it = [](const KernelProgram& candidate) {
    return candidate.source().find("wanted") != std::string::npos;
  };
  EXPECT_EQ(reduced(program, has_it, 10).source(), "// values 0, grid 32x1 group 32x1\n  x = f(1 * (c + wanted));\n");
}

// found/: programs on which engines once differed, as small as they could be made.
TEST(FoundKernels, AreTheSameOnAllEngines) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ANYMPS_FOUND_KERNELS)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  ASSERT_FALSE(paths.empty());
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream file(path, std::ios::binary);
    expect_agreement({std::istreambuf_iterator<char>(file), {}});
  }
}

}  // namespace
}  // namespace anymps::fuzz
