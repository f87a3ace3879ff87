#include "lab/runbook/parity/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "lab/runbook/test_folder.h"

namespace anymps::lab::runbook::parity {
namespace {

using nlohmann::json;

class KeptValues : public ::testing::Test {
 protected:
  KeptValues() {
    trial::RecordedProcess process;
    process.is_main = true;
    process.begin = {{"simulated", true}};
    process.facts = {{"device", "mps"}};
    process.steps.resize(2);
    process.values_path = folder_.path() / "1.values";
    const float elements[] = {1.5F, -2.5F, 3.5F};
    std::ofstream(process.values_path, std::ios::binary).write(reinterpret_cast<const char*>(elements), 12);
    process.values.push_back({"layer", "a", "Linear", 0, "float32", "float32", 1, 0, {1}});
    process.values.push_back({"gradient", "a", "gradient", 0, "float32", "float32", 2, 4, {2}});
    process.values.push_back({"gradient", "a", "gradient", 0, "float32", "float32", 4, 8, {4}});
    process.losses = {{0, 0.5, "float32"},
                      {1, std::numeric_limits<double>::quiet_NaN(), "float32"},
                      {2, -std::numeric_limits<double>::infinity(), "float32"}};
    process.modules = {{.name = "a", .kind = "Linear", .weight = "float32", .statistics = {}}};
    trial_.outcome = document::Outcome::kRan;
    trial_.recording.processes.push_back(process);
    trial_.folder = std::make_shared<host::RunFolder>(host::RunFolder::temporary());
    std::ofstream(trial_.folder->path() / "output.txt") << "accuracy 0.5\n";
  }

  // Through the text that the logbook holds.
  KeptRun kept(const std::string& metric) {
    const ParityFolder files(folder_.path() / "logbook.sqlite", 7);
    const json part = document::to_json(keep_run(trial_, "mps:0", metric, files.values_path("mps:0")));
    return kept_run(json::parse(part.dump()), files.values_path("mps:0"));
  }

  TestFolder folder_;
  trial::Trial trial_;
};

TEST_F(KeptValues, ComeBack) {
  const KeptRun run = kept("accuracy");
  EXPECT_TRUE(run.ran());
  EXPECT_TRUE(run.simulated());
  EXPECT_EQ(run.device, "mps:0");
  EXPECT_EQ(run.used_device(), "mps");
  EXPECT_EQ(run.steps, 2U);
  EXPECT_EQ(run.metric, 0.5);
  ASSERT_EQ(run.losses.size(), 3U);
  EXPECT_EQ(run.losses[0].value, 0.5);
  EXPECT_TRUE(std::isnan(run.losses[1].value));
  EXPECT_EQ(run.losses[2].value, -std::numeric_limits<double>::infinity());
  ASSERT_EQ(run.values.size(), 3U);
  const std::vector<std::byte> bytes = run.read(run.values[1]);
  float element = 0;
  ASSERT_EQ(bytes.size(), 8U);
  std::memcpy(&element, bytes.data(), 4);
  EXPECT_EQ(element, -2.5F);
}

TEST_F(KeptValues, TellTwoOfOneNameApart) {
  const KeptRun run = kept("");
  EXPECT_FALSE(run.metric);
  EXPECT_EQ(run.values[0].name, "a");
  EXPECT_EQ(run.values[1].name, "a");
  EXPECT_EQ(run.values[2].name, "a (model 2)");
}

TEST_F(KeptValues, OfAShortFileAreFewer) {
  const KeptRun run = kept("");
  EXPECT_EQ(run.read(run.values[2]).size(), 4U);
}

TEST_F(KeptValues, ThatAreGoneAreMissed) {
  const ParityFolder files(folder_.path() / "logbook.sqlite", 7);
  const json part = document::to_json(keep_run(trial_, "mps", "", files.values_path("mps")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "logbook.sqlite.runs" / "7"));
  files.remove();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "logbook.sqlite.runs"));
  EXPECT_THROW(kept_run(part, folder_.path() / "mps.values"), std::runtime_error);
}

TEST_F(KeptValues, OfACrashAreItsLastLines) {
  trial_.outcome = document::Outcome::kCrashed;
  trial_.why = "ValueError: no";
  trial_.output = "Traceback\nValueError: no\n";
  trial_.recording.processes.clear();
  const KeptRun run = kept("");
  EXPECT_FALSE(run.ran());
  EXPECT_EQ(run.outcome, document::Outcome::kCrashed);
  ASSERT_TRUE(run.failure);
  EXPECT_EQ(run.failure->why, "ValueError: no");
  EXPECT_EQ(run.failure->output, trial_.output);
}

TEST_F(KeptValues, OfAnyJsonAreNoRun) {
  for (const char* text : {"null", "[]", "{}", R"({"device": 3, "failure": [], "metric": "many", "facts": [1],
                           "values": [null, {"name": "a"}], "losses": [{"step": -1, "value": "x"}], "modules": 1})"}) {
    const KeptRun run = kept_run(json::parse(text), folder_.path() / "none.values");
    EXPECT_FALSE(run.ran()) << text;
    EXPECT_FALSE(run.metric) << text;
    EXPECT_TRUE(run.values.empty() && run.losses.empty() && run.used_device().empty()) << text;
  }
}

}  // namespace
}  // namespace anymps::lab::runbook::parity
