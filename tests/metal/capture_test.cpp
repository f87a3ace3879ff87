// Captures that nobody wrote in good faith: every line is refused with its place, and none leads out of the folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "metal/capture/reader.h"
#include "scratch_folder.h"

namespace anymps::metal {
namespace {

const std::string kHash(64, 'a');

std::string line(const std::string& from = "", const std::string& to = "") {
  std::string text = R"({"launch":0,"kernel":"k","library":"kernels/1.metallib","threads":[4,1,1],"group":[4,1,1],)"
                     R"("bindings":[{"index":0,"buffer":0,"offset":8,"bytes":24}],)"
                     R"("buffers":[{"bytes":32,"before":"HASH","written":true}],)"
                     R"("addresses":[{"buffer":0,"at":24,"of":0,"offset":32}],)"
                     R"("threadgroup":[{"index":1,"bytes":256}]})";
  text = std::regex_replace(text, std::regex("HASH"), kHash);
  if (from.empty()) return text;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class CaptureReader : public ::testing::Test {
 protected:
  std::vector<capture::RecordedLaunch> read(const std::string& lines) {
    std::ofstream(folder_.path() / capture::capture_format::kLaunches, std::ios::binary) << lines;
    return capture::read_launches(folder_.path().string());
  }
  std::string refusal_of(const std::string& lines) {
    try {
      read(lines);
    } catch (const capture::CaptureError& error) {
      return error.what();
    }
    return "";
  }

  ScratchFolder folder_;
};

TEST_F(CaptureReader, HasWhatWasWritten) {
  const auto launches = read(line() + "\n" + R"({"launch":0,"ms":1.5,"after":{"0":")" + kHash + "\"}}\n");
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].kernel, "k");
  EXPECT_EQ(launches[0].threads, (pipeline::Size{4, 1, 1}));
  EXPECT_EQ(launches[0].bindings[0].offset, 8U);
  EXPECT_EQ(launches[0].buffers[0].after, kHash);
  EXPECT_EQ(launches[0].milliseconds, 1.5);
}

TEST_F(CaptureReader, LeavesOutALineThatWasCutOff) {
  EXPECT_EQ(read(line() + "\n" + line().substr(0, 40)).size(), 1U);
  EXPECT_TRUE(read(line()).empty());
}

TEST_F(CaptureReader, RefusesWhatDoesNotHold) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("launch":0)", R"("launch":1)"},
      {R"("launch":0)", R"("launch":-1)"},
      {R"("kernel":"k")", R"("kernel":7)"},
      {"kernels/1.metallib", "../kernels/1.metallib"},
      {"kernels/1.metallib", "kernels/../../1.metallib"},
      {"kernels/1.metallib", "kernels/.."},
      {"kernels/1.metallib", "/etc/passwd"},
      {R"("threads":[4,1,1])", R"("threads":[4,1])"},
      {R"("threads":[4,1,1])", R"("threads":[4,0,1])"},
      {R"("group":[4,1,1])", R"("group":[4,1,99999999999])"},
      {R"("index":0)", R"("index":31)"},
      {R"("buffer":0)", R"("buffer":1)"},
      {R"("offset":8)", R"("offset":9)"},
      {R"("offset":8)", R"("offset":9223372036854775807)"},
      {R"("at":24)", R"("at":25)"},
      {R"("of":0)", R"("of":1)"},
      {R"("offset":32)", R"("offset":33)"},
      {R"("index":1,"bytes":256)", R"("index":1,"bytes":999999)"},
      {"aaaa", "../a"},
      {R"("bindings":[)", R"("bindings":[7,)"},
      {R"({"launch")", R"({{"launch")"},
  };
  for (const auto& [from, to] : wrong) {
    EXPECT_NE(refusal_of(line(from, to) + "\n").find("launches.jsonl:1: "), std::string::npos) << to;
  }
}

TEST_F(CaptureReader, RefusesAnEndThatFitsNoLaunch) {
  for (const std::string& after : {"{\"1\":\"" + kHash + "\"}", std::string(R"({"0":"zz"})"), std::string("7")}) {
    EXPECT_NE(refusal_of(line() + "\n" + R"({"launch":0,"ms":1,"after":)" + after + "}\n").find(":2: "),
              std::string::npos)
        << after;
  }
}

}  // namespace
}  // namespace anymps::metal
