// wrong_programs/: what the compiler must refuse, and what it says. The first line of each is "// LINE:COLUMN: " and a
// part of the first error's text.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "source_runner.h"

namespace anymps::metal {
namespace {

using testing::refusal_of;

struct WrongProgram {
  std::string name;
  std::string source;
};

std::vector<WrongProgram> wrong_programs() {
  std::vector<WrongProgram> programs;
  for (const auto& entry : std::filesystem::directory_iterator(ANYMPS_WRONG_PROGRAMS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    programs.push_back({entry.path().stem().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(programs, {}, &WrongProgram::name);
  return programs;
}

// One test for all, because each test is a process.
TEST(WrongPrograms, AreRefusedAtTheirPlaces) {
  const std::regex first_line("^// (\\d+):(\\d+): (.*)\n");
  const std::regex first_error("(?:^|\n)program_source:(\\d+):(\\d+): (?:fatal )?error: (.*)\n(.*)\n(.*)\n");
  for (const auto& [name, source] : wrong_programs()) {
    SCOPED_TRACE(name);
    std::smatch expected;
    ASSERT_TRUE(std::regex_search(source, expected, first_line));
    const std::string said = refusal_of(source);
    std::smatch found;
    if (!std::regex_search(said, found, first_error)) {
      ADD_FAILURE() << "it said: " << said;
      continue;
    }
    EXPECT_EQ(found[1], expected[1]) << said;
    EXPECT_EQ(found[2], expected[2]) << said;
    EXPECT_NE(found[3].str().find(expected[3].str()), std::string::npos) << said;
    EXPECT_NE(found[5].str().find('^'), std::string::npos) << "no caret: " << said;
  }
}

TEST(WrongPrograms, AreDescribedInMetalsWords) {
  for (const auto& [name, source] : wrong_programs()) {
    SCOPED_TRACE(name);
    const std::string said = refusal_of(source);
    for (const char* word : {"__global", "__local", "__private", "opencl_", "SYCL", "__attribute__", "annotate",
                             "_Float16", "__bf16", "__air", "_Z"}) {
      EXPECT_EQ(said.find(word), std::string::npos) << word << " in: " << said;
    }
  }
}

TEST(WrongPrograms, AreAHundred) { EXPECT_GE(wrong_programs().size(), 100U); }

// Bytes that an editor would not keep.

TEST(WrongBytes, ANulInTheSourceIsRefused) {
  const std::string said = refusal_of(std::string("kernel void k(device float* out) {\n  \0wrong;\n}\n", 47));
  EXPECT_EQ(said, "program_source:2:1: error: the source has a NUL character\n");
}

TEST(WrongBytes, InvalidUtf8IsRefused) {
  const std::string said = refusal_of("kernel void k(device float* out) {\n  out[0] = \xff\xfe;\n}\n");
  EXPECT_EQ(said.find("program_source:2:12: error: "), 0U) << said;
}

TEST(WrongBytes, EverySingleByteIsTakenOrRefused) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string source =
        std::string("kernel void k(device float* out) { out[0] = 1 ") + static_cast<char>(byte) + " 1; }";
    EXPECT_NO_THROW(refusal_of(source)) << byte;
  }
}

TEST(WrongBytes, NothingIsAProgramWithoutKernels) {
  for (const char* source :
       {"", "\n", "// nothing", "/* nothing */", "#include <metal_stdlib>\nusing namespace metal;"}) {
    const frontend::Program program(source, {});
    EXPECT_TRUE(program.kernels().empty()) << source;
    EXPECT_EQ(program.warnings(), "") << source;
  }
}

}  // namespace
}  // namespace anymps::metal
