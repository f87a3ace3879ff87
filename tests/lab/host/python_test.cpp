#include "lab/host/python.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "scratch_folder.h"

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TEST(Python, IsThatOfTheActiveEnvironment) {
  const ScratchFolder scratch;
  const fs::path& folder = scratch.path();
  const char* environment = std::getenv("VIRTUAL_ENV");
  const std::string before = environment != nullptr ? environment : "";
  ::setenv("VIRTUAL_ENV", folder.c_str(), 1);
  EXPECT_EQ(find_python(), "python3");  // an environment without a Python is passed over
  const fs::path python = folder / "bin" / "python";
  fs::create_directory(python.parent_path());
  std::ofstream(python) << "#!/bin/sh\n";
  EXPECT_EQ(find_python(), "python3");  // not executable
  fs::permissions(python, fs::perms::owner_all);
  EXPECT_EQ(find_python(), python.string());
  EXPECT_EQ(with_python({"train.py", "--x"}), (Words{python.string(), "train.py", "--x"}));
  EXPECT_EQ(with_python({"-m", "pkg.train"}), (Words{python.string(), "-m", "pkg.train"}));
  before.empty() ? ::unsetenv("VIRTUAL_ENV") : ::setenv("VIRTUAL_ENV", before.c_str(), 1);
}

TEST(Python, IsNotPutBeforeAProgram) {
  EXPECT_EQ(with_python({"torchrun", "train.py"}), (Words{"torchrun", "train.py"}));
  EXPECT_EQ(with_python({}), Words{});
}

TEST(Words, SplitAsAShellDoes) {
  EXPECT_EQ(split_words("--device cpu"), (Words{"--device", "cpu"}));
  EXPECT_EQ(split_words("  a\t b\n"), (Words{"a", "b"}));
  EXPECT_EQ(split_words("--name 'two words' \"it's\" a\\ b ''"), (Words{"--name", "two words", "it's", "a b", ""}));
  EXPECT_EQ(split_words("x'y z'w"), (Words{"xy zw"}));
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_THROW(split_words("never 'closed"), std::invalid_argument);
}

}  // namespace
}  // namespace anymps::lab::host
