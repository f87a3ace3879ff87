#include "lab/runbook/trial/recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lab/runbook/test_folder.h"

namespace anymps::lab::runbook::trial {
namespace {

std::string complaint_about(const std::filesystem::path& folder) {
  try {
    read_recording(folder);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kStep = R"({"e": "step", "t": 1, "i": 0})";

TEST(Recording, LinesThatCouldNotBeWrittenAreTold) {
  const TestFolder folder;
  const auto path = folder.path() / "1.jsonl";
  std::ofstream(path) << kStep << "\n\n"
                      << R"({"e": "lost", "why": "No space left on device"})" << "\n"
                      << kStep << "\n";
  EXPECT_EQ(complaint_about(folder.path()),
            path.string() + ": the script's record lacks lines: No space left on device");
}

TEST(Recording, AFileThatCannotBeReadIsTold) {
  const TestFolder folder;
  EXPECT_EQ(complaint_about(folder.path() / "none"), "");
  const auto path = folder.path() / "1.jsonl";
  std::filesystem::create_directory(path);
  EXPECT_EQ(complaint_about(folder.path()), path.string() + ": Is a directory");
  std::filesystem::remove(path);
  std::ofstream(path) << kStep << "\n";
  EXPECT_EQ(complaint_about(folder.path()), "");
  EXPECT_EQ(complaint_about(path), path.string() + ": Not a directory");
}

}  // namespace
}  // namespace anymps::lab::runbook::trial
