#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/base/shell_words.h"
#include "lab/host/python.h"
#include "lab/runbook/document/verdict.h"
#include "lab/runbook/handoff/bundle.h"
#include "lab/runbook/handoff/bundle_reader.h"
#include "lab/runbook/handoff/bundle_writer.h"
#include "lab/runbook/handoff/environment_difference.h"
#include "lab/runbook/handoff/golden_command.h"
#include "lab/runbook/handoff/lockfile.h"
#include "lab/runbook/handoff/service_units.h"
#include "lab/runbook/handoff/smoke.h"
#include "lab/runbook/handoff/smoke_figures.h"
#include "lab/runbook/test_folder.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

TEST(Bundle, TellsPathsThatMayBeInIt) {
  for (const char* path : {"a", "files/train.py", "files/données/é.txt", "files/.hidden", "files/a b", "files/日本"}) {
    EXPECT_FALSE(runbook::handoff::path_fault(path)) << path;
  }
  for (const char* path : {"", "/a", "..", "a/..", "a/../b", "./a", "a//b", "a/", "a.", "a ", "a\\b", "a:b", "a\nb",
                           "a\x7f", "\xff", "a\xc0\xae", "\xed\xa0\x80", "a\xe2\x80\x8b", "a\xef\xbb\xbf"}) {
    EXPECT_TRUE(runbook::handoff::path_fault(path)) << path;
  }
  EXPECT_TRUE(runbook::handoff::path_fault(std::string(2000, 'a')));
}

TEST(Bundle, WritesWhatItReads) {
  const TestFolder folder;
  const auto path = folder.path() / "bundle.tar.zst";
  std::ofstream(folder.path() / "source") << "from a file";
  const std::string deep = "files/" + std::string(120, 'd') + "/" + std::string(120, 'e') + "/é.txt";
  const runbook::handoff::WrittenBundle written = runbook::handoff::write_bundle(
      path, {{"golden", "x"}}, {{deep, folder.path() / "source", {}}, {"a.json", {}, "{\"b\": 1}"}}, 1000);
  const runbook::handoff::Bundle bundle = runbook::handoff::read_bundle(path);
  EXPECT_EQ(bundle.sha256, written.sha256);
  ASSERT_EQ(bundle.files.size(), 2);
  EXPECT_EQ(bundle.files[1].path, deep);
  EXPECT_EQ(bundle.document("a.json")["b"], 1);
  EXPECT_TRUE(bundle.document("none.json").is_null());
  runbook::handoff::extract_bundle(path, bundle, folder.path() / "out");
  std::string text;
  std::getline(std::ifstream(folder.path() / "out" / deep), text);
  EXPECT_EQ(text, "from a file");
}

TEST(Bundle, IsNotMadeWhereNobodyCouldReadIt) {
  const TestFolder folder;
  const auto path = folder.path() / "bundle.tar.zst";
  EXPECT_THROW(runbook::handoff::write_bundle(path, json::object(), {{"files/a", {}, "1"}, {"files/A", {}, "2"}}, 0),
               std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Lockfile, HasHashesForAllOrNone) {
  json environment = {{"python", {{"version", "3.11.2"}}},
                      {"packages",
                       {{{"name", "a"}, {"version", "1"}, {"archive_sha256", "ff"}, {"record_sha256", nullptr}},
                        {{"name", "b"}, {"version", "2"}, {"archive_sha256", nullptr}, {"record_sha256", "ee"}}}}};
  const std::string some = runbook::handoff::requirements_lock(environment);
  EXPECT_NE(some.find("a==1  # --hash=sha256:ff\n"), std::string::npos) << some;
  EXPECT_NE(some.find("b==2  # record sha256:ee\n"), std::string::npos) << some;
  environment["packages"].erase(1);
  EXPECT_NE(runbook::handoff::requirements_lock(environment).find("a==1 --hash=sha256:ff\n"), std::string::npos);
}

TEST(Lockfile, ReadsCondasRecords) {
  const TestFolder folder;
  EXPECT_EQ(runbook::handoff::conda_explicit(folder.path()), "");
  std::filesystem::create_directory(folder.path() / "conda-meta");
  std::ofstream(folder.path() / "conda-meta" / "b-1.json")
      << R"({"url": "https://example.org/b-1.conda", "md5": "12"})";
  std::ofstream(folder.path() / "conda-meta" / "a-1.json") << R"({"url": "https://example.org/a-1.conda"})";
  std::ofstream(folder.path() / "conda-meta" / "broken.json") << "{";
  EXPECT_NE(runbook::handoff::conda_explicit(folder.path())
                .find("@EXPLICIT\nhttps://example.org/a-1.conda\nhttps://example.org/b-1.conda#12\n"),
            std::string::npos);
}

TEST(ServiceUnits, EscapeWhatEachFormatTakesForItsOwn) {
  const runbook::handoff::GoldenCommand command{{"/usr/bin/python", "train.py", "100%", "$HOME", "a \"b\"", "<x>"},
                                                "/srv/50%",
                                                {{"A", "1 & \"2\" %n $x"}},
                                                "ada",
                                                "train"};
  const std::string unit = runbook::handoff::systemd_unit(command);
  EXPECT_NE(unit.find(R"(ExecStart="/usr/bin/python" "train.py" "100%%" "$$HOME" "a \"b\"" "<x>")"), std::string::npos)
      << unit;
  EXPECT_NE(unit.find(R"(Environment="A=1 & \"2\" %%n $x")"), std::string::npos) << unit;
  EXPECT_NE(unit.find("WorkingDirectory=/srv/50%%\n"), std::string::npos) << unit;
  const std::string plist = runbook::handoff::launchd_plist(command);
  EXPECT_NE(plist.find("<string>&lt;x&gt;</string>"), std::string::npos) << plist;
}

TEST(GoldenCommand, IsTakenApart) {
  const runbook::handoff::CommandParts parts =
      runbook::handoff::command_parts({"/opt/python3.11", "-u", "-X", "dev", "train.py", "-m", "x"});
  EXPECT_EQ(parts.options, (std::vector<std::string>{"-u", "-X", "dev"}));
  EXPECT_EQ(parts.script, (std::vector<std::string>{"train.py"}));
  EXPECT_EQ(parts.arguments, (std::vector<std::string>{"-m", "x"}));
  EXPECT_EQ(runbook::handoff::command_parts({"python", "-m", "pack.train", "a"}).script,
            (std::vector<std::string>{"-m", "pack.train"}));
  EXPECT_THROW(runbook::handoff::command_parts({"python", "-c", "1"}), std::runtime_error);
  EXPECT_THROW(runbook::handoff::command_parts({"bash", "run.sh"}), std::runtime_error);
  EXPECT_TRUE(runbook::handoff::same_script({"/a/python", "t.py"}, {"python3", "t.py"}));
  EXPECT_FALSE(runbook::handoff::same_script({"python", "t.py", "1"}, {"python", "t.py"}));
  const std::vector<std::string> words = {"t.py", "--data", "/d", "--data=/d/train", "/dd"};
  const auto common = runbook::handoff::with_data_word(words, "/d");
  EXPECT_EQ(common, (std::vector<std::string>{"t.py", "--data", "{data}", "--data={data}/train", "/dd"}));
  EXPECT_EQ(runbook::handoff::with_data_path(common, "/d"), words);
}

TEST(ShellWords, AreReadBackAsTheyWere) {
  const std::vector<std::string> words = {"plain", "", "a b", "it's", "$x `y` \"z\"", "a\nb", "*"};
  EXPECT_EQ(host::split_words(base::shell_quoted(words)), words);
}

json host(double rate, double input, double load, const char* cpu, const char* mount) {
  return {{"figures", {{"steps_per_second", rate}, {"input_share", input}}},
          {"environment",
           {{"platform", {{"machine", "arm64"}, {"cpu", cpu}, {"cores", 4}, {"memory_bytes", 1}}},
            {"load", load},
            {"caches", {{{"name", "HF_HOME"}, {"mount", mount}}}},
            {"variables", json::object()}}}};
}

std::vector<std::string> causes(const json& here, const json& there) {
  std::vector<std::string> all;
  for (const json& cause : runbook::handoff::explain_speed(here, there)) all.push_back(cause["cause"]);
  return all;
}

TEST(SmokeFigures, ExplainAnotherSpeed) {
  using Causes = std::vector<std::string>;
  const json here = host(10, 0.1, 0, "M1", "apfs");
  EXPECT_EQ(causes(here, host(10.5, 0.9, 9, "M4", "nfs")), Causes{});  // as fast
  EXPECT_EQ(causes(here, host(5, 0.6, 0, "M1", "nfs")), (Causes{"input", "cache"}));
  EXPECT_EQ(causes(here, host(5, 0.1, 8, "M1", "apfs")), (Causes{"load"}));
  EXPECT_EQ(causes(here, host(20, 0.1, 0, "M4", "apfs")), (Causes{"hardware"}));
  EXPECT_EQ(causes(host(10, 0.6, 0, "M1", "apfs"), host(20, 0.1, 0, "M1", "apfs")), (Causes{"input"}));
  EXPECT_EQ(causes(here, host(5, 0.1, 0, "M1", "apfs")), (Causes{"unknown"}));
  json talking = host(5, 0.1, 0, "M1", "apfs");
  talking["environment"]["variables"] = {{"TORCH_LOGS", "+dynamo"}, {"OMP_NUM_THREADS", "1"}};
  EXPECT_EQ(causes(here, talking), (Causes{"environment", "logging"}));
}

void write_recording(const std::filesystem::path& folder, const std::vector<json>& events) {
  std::ofstream file(folder / "1.jsonl");
  for (const json& event : events) file << event.dump() << "\n";
}

TEST(SmokeFigures, AreOfTheWindowAlone) {
  const TestFolder folder;
  EXPECT_TRUE(runbook::handoff::window_figures(folder.path())["steps_per_second"].is_null());
  std::vector<json> events = {{{"e", "begin"}, {"role", "main"}, {"pid", 1}}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    events.push_back({{"e", "step"}, {"t", 1'000'000'000 * (i + 1)}, {"i", i}, {"in", 250'000'000}, {"mem", 10 * i}});
    if (i == 1) events.push_back({{"e", "window"}, {"edge", "begin"}, {"t", 2'000'000'000}, {"step", 2}});
  }
  events.push_back({{"e", "window"}, {"edge", "end"}, {"t", 6'000'000'000}, {"step", 6}});
  write_recording(folder.path(), events);
  const json figures = runbook::handoff::window_figures(folder.path());
  EXPECT_EQ(figures["steps"], 4);
  EXPECT_DOUBLE_EQ(figures["steps_per_second"], 1);
  EXPECT_DOUBLE_EQ(figures["input_share"], 0.25);
  EXPECT_EQ(figures["peak_bytes"], 50);
}

TEST(SmokeFigures, SayWhetherMemoryHoldsItsLevel) {
  const TestFolder folder;
  const auto plateau = [&](std::vector<int> flushed) {
    std::vector<json> events = {{{"e", "begin"}, {"role", "main"}, {"pid", 1}}, {{"e", "step"}, {"i", 0}}};
    for (const int bytes : flushed) events.push_back({{"e", "epoch"}, {"flushed", bytes}, {"rss", 7}});
    write_recording(folder.path(), events);
    return runbook::handoff::plateau_figures(folder.path(), flushed.size(), 0.26);
  };
  EXPECT_TRUE(plateau({100, 100})["holds"].is_null());
  EXPECT_EQ(plateau({100, 100, 100, 126})["holds"], true);
  EXPECT_EQ(plateau({100, 100, 110, 130})["holds"], false);
  const json resident = plateau({0, 0, 0});
  EXPECT_EQ(resident["measure"], "resident");
  EXPECT_EQ(resident["holds"], true);
}

TEST(SmokeVerdict, IsOpenWhereThePlateauCouldNotBeJudged) {
  const auto status = [](const json& holds) {
    return runbook::document::exit_status(runbook::handoff::smoke_verdict({{"plateau", {{"holds", holds}}}}));
  };
  EXPECT_EQ(status(true), 0);
  EXPECT_EQ(status(false), 1);
  EXPECT_EQ(status(nullptr), 2);
}

TEST(EnvironmentDifference, SaysWhatMatters) {
  const auto environment = [](const char* python, const char* torch, json packages) {
    return json{{"platform", {{"machine", "arm64"}}}, {"python", {{"version", python}, {"implementation", "CPython"}}},
                {"torch", {{"version", torch}}},      {"packages", std::move(packages)},
                {"variables", json::object()},        {"caches", json::array()}};
  };
  const json numpy = {{"name", "numpy"}, {"version", "2"}, {"record_sha256", "aa"}};
  const json there = environment("3.11.2", "2.13", json::array({numpy}));
  EXPECT_TRUE(runbook::handoff::environment_differences(there, there).empty());
  EXPECT_FALSE(runbook::handoff::has_red(
      runbook::handoff::environment_differences(environment("3.11.9", "2.13", json::array({numpy})), there)));
  EXPECT_TRUE(runbook::handoff::has_red(
      runbook::handoff::environment_differences(environment("3.12.2", "2.13", json::array({numpy})), there)));
  EXPECT_TRUE(runbook::handoff::has_red(
      runbook::handoff::environment_differences(environment("3.11.2", "2.13+cpu", json::array({numpy})), there)));
  EXPECT_TRUE(runbook::handoff::has_red(
      runbook::handoff::environment_differences(environment("3.11.2", "2.13", json::array()), there)));
  json patched = numpy;
  patched["record_sha256"] = "bb";
  const json other =
      runbook::handoff::environment_differences(environment("3.11.2", "2.13", json::array({patched})), there);
  ASSERT_EQ(other.size(), 1);
  EXPECT_EQ(other[0]["kind"], "files of package");
  // A stranger's bundle may hold anything.
  EXPECT_NO_THROW(
      runbook::handoff::environment_differences(there, {{"packages", 3}, {"variables", "x"}, {"caches", {1, "a"}}}));
}

}  // namespace
}  // namespace anymps::lab
