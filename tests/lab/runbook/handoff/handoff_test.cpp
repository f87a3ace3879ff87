#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/base/shell_words.h"
#include "lab/host/python.h"
#include "lab/runbook/document/verdict.h"
#include "lab/runbook/handoff/bundle.h"
#include "lab/runbook/handoff/bundle_reader.h"
#include "lab/runbook/handoff/bundle_writer.h"
#include "lab/runbook/handoff/document.h"
#include "lab/runbook/handoff/environment_difference.h"
#include "lab/runbook/handoff/golden_command.h"
#include "lab/runbook/handoff/lockfile.h"
#include "lab/runbook/handoff/manifest.h"
#include "lab/runbook/handoff/service_units.h"
#include "lab/runbook/handoff/smoke.h"
#include "lab/runbook/handoff/smoke_figures.h"
#include "lab/runbook/handoff/speed_causes.h"
#include "lab/runbook/test_folder.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

TEST(Bundle, TellsPathsThatMayBeInIt) {
  for (const char* path : {"a", "files/train.py", "files/données/é.txt", "files/.hidden", "files/a b", "files/日本"}) {
    EXPECT_FALSE(path_fault(path)) << path;
  }
  for (const char* path : {"", "/a", "..", "a/..", "a/../b", "./a", "a//b", "a/", "a.", "a ", "a\\b", "a:b", "a\nb",
                           "a\x7f", "\xff", "a\xc0\xae", "\xed\xa0\x80", "a\xe2\x80\x8b", "a\xef\xbb\xbf"}) {
    EXPECT_TRUE(path_fault(path)) << path;
  }
  EXPECT_TRUE(path_fault(std::string(2000, 'a')));
}

TEST(Bundle, WritesWhatItReads) {
  const TestFolder folder;
  const auto path = folder.path() / "bundle.tar.zst";
  std::ofstream(folder.path() / "source") << "from a file";
  const std::string deep = "files/" + std::string(120, 'd') + "/" + std::string(120, 'e') + "/é.txt";
  const WrittenBundle written =
      write_bundle(path, Manifest{}, {{deep, folder.path() / "source", {}}, {"a.json", {}, "{\"b\": 1}"}}, 1000);
  const Bundle bundle = read_bundle(path);
  EXPECT_EQ(bundle.sha256, written.sha256);
  ASSERT_EQ(bundle.manifest.files.size(), 2);
  EXPECT_EQ(bundle.manifest.files[1].path, deep);
  EXPECT_EQ(bundle.text_as_json("a.json")["b"], 1);
  EXPECT_TRUE(bundle.text_as_json("none.json").is_null());
  extract_bundle(path, bundle, folder.path() / "out");
  std::string text;
  std::getline(std::ifstream(folder.path() / "out" / deep), text);
  EXPECT_EQ(text, "from a file");
}

TEST(Bundle, IsNotMadeWhereNobodyCouldReadIt) {
  const TestFolder folder;
  const auto path = folder.path() / "bundle.tar.zst";
  EXPECT_THROW(write_bundle(path, Manifest{}, {{"files/a", {}, "1"}, {"files/A", {}, "2"}}, 0), std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

Package package(const std::string& name, const std::string& version) {
  Package made;
  made.name = name;
  made.version = version;
  return made;
}

TEST(Lockfile, HasHashesForAllOrNone) {
  Environment environment;
  environment.python.version = "3.11.2";
  environment.packages = {package("a", "1"), package("b", "2")};
  environment.packages[0].archive_sha256 = "ff";
  environment.packages[1].record_sha256 = "ee";
  const std::string some = requirements_lock(environment);
  EXPECT_NE(some.find("a==1  # --hash=sha256:ff\n"), std::string::npos) << some;
  EXPECT_NE(some.find("b==2  # record sha256:ee\n"), std::string::npos) << some;
  environment.packages.pop_back();
  EXPECT_NE(requirements_lock(environment).find("a==1 --hash=sha256:ff\n"), std::string::npos);
}

TEST(Lockfile, ReadsCondasRecords) {
  const TestFolder folder;
  EXPECT_EQ(conda_explicit(folder.path()), "");
  std::filesystem::create_directory(folder.path() / "conda-meta");
  std::ofstream(folder.path() / "conda-meta" / "b-1.json")
      << R"({"url": "https://example.org/b-1.conda", "md5": "12"})";
  std::ofstream(folder.path() / "conda-meta" / "a-1.json") << R"({"url": "https://example.org/a-1.conda"})";
  std::ofstream(folder.path() / "conda-meta" / "broken.json") << "{";
  EXPECT_NE(conda_explicit(folder.path())
                .find("@EXPLICIT\nhttps://example.org/a-1.conda\nhttps://example.org/b-1.conda#12\n"),
            std::string::npos);
}

TEST(ServiceUnits, EscapeWhatEachFormatTakesForItsOwn) {
  const GoldenCommand command{{"/usr/bin/python", "train.py", "100%", "$HOME", "a \"b\"", "<x>"},
                              "/srv/50%",
                              {{"A", "1 & \"2\" %n $x"}},
                              "ada",
                              "train"};
  const std::string unit = systemd_unit(command);
  EXPECT_NE(unit.find(R"(ExecStart="/usr/bin/python" "train.py" "100%%" "$$HOME" "a \"b\"" "<x>")"), std::string::npos)
      << unit;
  EXPECT_NE(unit.find(R"(Environment="A=1 & \"2\" %%n $x")"), std::string::npos) << unit;
  EXPECT_NE(unit.find("WorkingDirectory=/srv/50%%\n"), std::string::npos) << unit;
  const std::string plist = launchd_plist(command);
  EXPECT_NE(plist.find("<string>&lt;x&gt;</string>"), std::string::npos) << plist;
}

TEST(GoldenCommand, IsTakenApart) {
  const CommandParts parts = command_parts({"/opt/python3.11", "-u", "-X", "dev", "train.py", "-m", "x"});
  EXPECT_EQ(parts.options, (std::vector<std::string>{"-u", "-X", "dev"}));
  EXPECT_EQ(parts.script, (std::vector<std::string>{"train.py"}));
  EXPECT_EQ(parts.arguments, (std::vector<std::string>{"-m", "x"}));
  EXPECT_EQ(command_parts({"python", "-m", "pack.train", "a"}).script, (std::vector<std::string>{"-m", "pack.train"}));
  EXPECT_THROW(command_parts({"python", "-c", "1"}), std::runtime_error);
  EXPECT_THROW(command_parts({"bash", "run.sh"}), std::runtime_error);
  EXPECT_TRUE(same_script({"/a/python", "t.py"}, {"python3", "t.py"}));
  EXPECT_FALSE(same_script({"python", "t.py", "1"}, {"python", "t.py"}));
  const std::vector<std::string> words = {"t.py", "--data", "/d", "--data=/d/train", "/dd"};
  const auto common = with_data_word(words, "/d");
  EXPECT_EQ(common, (std::vector<std::string>{"t.py", "--data", "{data}", "--data={data}/train", "/dd"}));
  EXPECT_EQ(with_data_path(common, "/d"), words);
}

TEST(ShellWords, AreReadBackAsTheyWere) {
  const std::vector<std::string> words = {"plain", "", "a b", "it's", "$x `y` \"z\"", "a\nb", "*"};
  EXPECT_EQ(host::split_words(base::shell_quoted(words)), words);
}

HostSpeed host_of(double rate, double input, double load, const char* cpu, const char* mount) {
  HostSpeed host;
  host.figures = {rate, input};
  host.environment.platform.machine = "arm64";
  host.environment.platform.cpu = cpu;
  host.environment.platform.cores = 4;
  host.environment.platform.memory_bytes = 1;
  host.environment.load = load;
  CacheFolder& cache = host.environment.caches.emplace_back();
  cache.name = "HF_HOME";
  cache.mount = mount;
  return host;
}

std::vector<Cause> causes(const HostSpeed& here, const HostSpeed& there) {
  std::vector<Cause> all;
  for (const SpeedCause& one : explain_speed(here, there)) all.push_back(one.cause);
  return all;
}

TEST(SpeedCauses, ExplainAnotherSpeed) {
  using Causes = std::vector<Cause>;
  const HostSpeed here = host_of(10, 0.1, 0, "M1", "apfs");
  EXPECT_EQ(causes(here, host_of(10.5, 0.9, 9, "M4", "nfs")), Causes{});  // as fast
  EXPECT_EQ(causes(here, host_of(5, 0.6, 0, "M1", "nfs")), (Causes{Cause::kInput, Cause::kCache}));
  EXPECT_EQ(causes(here, host_of(5, 0.1, 8, "M1", "apfs")), (Causes{Cause::kLoad}));
  EXPECT_EQ(causes(here, host_of(20, 0.1, 0, "M4", "apfs")), (Causes{Cause::kHardware}));
  EXPECT_EQ(causes(host_of(10, 0.6, 0, "M1", "apfs"), host_of(20, 0.1, 0, "M1", "apfs")), (Causes{Cause::kInput}));
  EXPECT_EQ(causes(here, host_of(5, 0.1, 0, "M1", "apfs")), (Causes{Cause::kUnknown}));
  HostSpeed talking = host_of(5, 0.1, 0, "M1", "apfs");
  talking.environment.variables = {{"TORCH_LOGS", "+dynamo"}, {"OMP_NUM_THREADS", "1"}};
  EXPECT_EQ(causes(here, talking), (Causes{Cause::kEnvironment, Cause::kLogging}));
}

void write_recording(const std::filesystem::path& folder, const std::vector<json>& events) {
  std::ofstream file(folder / "1.jsonl");
  for (const json& event : events) file << event.dump() << "\n";
}

TEST(SmokeFigures, AreOfTheWindowAlone) {
  const TestFolder folder;
  EXPECT_FALSE(window_figures(folder.path()).steps_per_second);
  std::vector<json> events = {{{"e", "begin"}, {"role", "main"}, {"pid", 1}}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    events.push_back({{"e", "step"}, {"t", 1'000'000'000 * (i + 1)}, {"i", i}, {"in", 250'000'000}, {"mem", 10 * i}});
    if (i == 1) events.push_back({{"e", "window"}, {"edge", "begin"}, {"t", 2'000'000'000}, {"step", 2}});
  }
  events.push_back({{"e", "window"}, {"edge", "end"}, {"t", 6'000'000'000}, {"step", 6}});
  write_recording(folder.path(), events);
  const WindowFigures figures = window_figures(folder.path());
  EXPECT_EQ(figures.steps, 4);
  EXPECT_DOUBLE_EQ(figures.steps_per_second.value_or(0), 1);
  EXPECT_DOUBLE_EQ(figures.input_share.value_or(0), 0.25);
  EXPECT_EQ(figures.peak_bytes, 50);
}

TEST(SmokeFigures, SayWhetherMemoryHoldsItsLevel) {
  const TestFolder folder;
  const auto plateau = [&](std::vector<int> flushed) {
    std::vector<json> events = {{{"e", "begin"}, {"role", "main"}, {"pid", 1}}, {{"e", "step"}, {"i", 0}}};
    for (const int bytes : flushed) events.push_back({{"e", "epoch"}, {"flushed", bytes}, {"rss", 7}});
    write_recording(folder.path(), events);
    return plateau_figures(folder.path(), flushed.size(), 0.26);
  };
  EXPECT_FALSE(plateau({100, 100}).holds.has_value());
  EXPECT_EQ(plateau({100, 100, 100, 126}).holds, true);
  EXPECT_EQ(plateau({100, 100, 110, 130}).holds, false);
  const SmokePlateau resident = plateau({0, 0, 0});
  EXPECT_EQ(resident.curve.measure, plateau::Measure::kResident);
  EXPECT_EQ(resident.holds, true);
}

TEST(SmokeVerdict, IsOpenWhereThePlateauCouldNotBeJudged) {
  const auto status = [](std::optional<bool> holds) {
    SmokePlateau plateau;
    plateau.holds = holds;
    return document::exit_status(smoke_verdict(plateau));
  };
  EXPECT_EQ(status(true), 0);
  EXPECT_EQ(status(false), 1);
  EXPECT_EQ(status(std::nullopt), 2);
}

Environment environment(const char* python, const char* torch, std::vector<Package> packages) {
  Environment made;
  made.platform.machine = "arm64";
  made.python.version = python;
  made.python.implementation = "CPython";
  made.torch = TorchBuild{};
  made.torch->version = torch;
  made.packages = std::move(packages);
  return made;
}

TEST(EnvironmentDifference, SaysWhatMatters) {
  Package numpy = package("numpy", "2");
  numpy.record_sha256 = "aa";
  const Environment there = environment("3.11.2", "2.13", {numpy});
  EXPECT_TRUE(environment_differences(there, there).empty());
  EXPECT_FALSE(has_red(environment_differences(environment("3.11.9", "2.13", {numpy}), there)));
  EXPECT_TRUE(has_red(environment_differences(environment("3.12.2", "2.13", {numpy}), there)));
  EXPECT_TRUE(has_red(environment_differences(environment("3.11.2", "2.13+cpu", {numpy}), there)));
  EXPECT_TRUE(has_red(environment_differences(environment("3.11.2", "2.13", {}), there)));
  Package patched = numpy;
  patched.record_sha256 = "bb";
  const std::vector<Difference> other = environment_differences(environment("3.11.2", "2.13", {patched}), there);
  ASSERT_EQ(other.size(), 1);
  EXPECT_EQ(other[0].kind, DifferenceKind::kPackageFiles);
}

TEST(EnvironmentDifference, TakesWhateverAStrangersBundleHolds) {
  const json odd = {{"packages", 3}, {"variables", "x"}, {"caches", {1, "a"}}, {"torch", {{"version", 2}}}};
  const Environment here = environment("3.11.2", "2.13", {package("numpy", "2")});
  EXPECT_TRUE(has_red(environment_differences(here, document::described_from<Environment>(odd))));
}

Manifest good_manifest() {
  BundleFile file;
  file.path = "files/train.py";
  file.sha256 = std::string(64, 'a');
  Manifest manifest;
  manifest.format = kBundleFormat;
  manifest.version = kBundleVersion;
  manifest.golden.words = manifest.golden.given = {"train.py"};
  manifest.golden.folder = "files";
  manifest.files = {file};
  return manifest;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const json good = document::to_json(good_manifest());
  const Manifest read = manifest_from(good, {});
  EXPECT_EQ(document::to_json(read), good);
  EXPECT_NO_THROW(check_runnable(read, good));
}

TEST(Manifest, IsRefusedWhereItIsNotWhole) {
  const json good = document::to_json(good_manifest());
  for (const char* field : {"format", "version", "files"}) {
    json lacking = good;
    lacking.erase(field);
    EXPECT_THROW(manifest_from(lacking, {}), BundleError) << field;
  }
  // A file that is not described whole is not passed over.
  for (const char* field : {"path", "bytes", "sha256", "executable"}) {
    json lacking = good;
    lacking["files"][0].erase(field);
    EXPECT_THROW(manifest_from(lacking, {}), BundleError) << field;
  }
  for (const json& odd : {json(), json(3), json::array(), json::array({good})}) {
    EXPECT_THROW(manifest_from(odd, {}), BundleError) << odd;
  }
}

TEST(Manifest, IsRefusedWhereACommandWouldLackAWord) {
  const json good = document::to_json(good_manifest());
  const auto expect_refused = [](const json& odd) {
    EXPECT_THROW(check_runnable(manifest_from(odd, {}), odd), BundleError) << odd;
  };
  for (const char* words : {"words", "given"}) {
    json odd = good;
    odd["golden"][words].push_back(3);
    expect_refused(odd);
    odd["golden"][words] = json::array();
    expect_refused(odd);
  }
  json odd = good;
  odd["variables"]["OMP_NUM_THREADS"] = 3;
  expect_refused(odd);
  odd = good;
  odd["data"] = {{"packed", true}};
  expect_refused(odd);
  odd = good;
  odd["golden"]["folder"] = "../files";
  expect_refused(odd);
}

template <typename Document>
void expect_read_as_written(const Document& document) {
  const json written = document::to_json(document);
  EXPECT_EQ(document::to_json(document::described_from<Document>(written)), written);
}

const Difference kDifference = {DifferenceKind::kCacheMount, "HF_HOME", "nfs", nullptr, Severity::kRed};

TEST(HandoffDocuments, OfPackAndVerifyAreReadAsTheyWereWritten) {
  PackDocument pack;
  pack.golden.commit = "0123";
  pack.data = DataSet{"images", "ff", 2, 1000, true};
  pack.left_out = {{"weights.pt", "it is too large"}};
  expect_read_as_written(pack);
  VerifyDocument verify;
  verify.into = "there";
  verify.differences = {kDifference};
  expect_read_as_written(verify);
  const json difference = document::to_json(verify)["differences"][0];
  EXPECT_EQ(difference["kind"], "cache mount");
  EXPECT_EQ(difference["severity"], "red");
}

TEST(HandoffDocuments, OfSmokeIsReadAsItWasWritten) {
  SmokeDocument smoke;
  smoke.figures.peak_measure = plateau::Measure::kTensors;
  smoke.figures.batch = 16;
  smoke.plateau.curve.epochs = {{}, {}};
  smoke.plateau.holds = true;
  smoke.environment = environment("3.11.2", "2.13", {package("numpy", "2")});
  smoke.environment.load = 0.5;
  smoke.differences = {kDifference};
  smoke.local = LocalRun{3, "profile", {10, 0.25}};
  smoke.speed_ratio = 0.5;
  smoke.explanation = {{Cause::kCache, "caches there lie on the network"}};
  expect_read_as_written(smoke);
  const json empty = document::to_json(SmokeDocument{});
  EXPECT_TRUE(empty["local"].is_null());
  EXPECT_FALSE(empty["figures"].contains("peak_measure"));
  EXPECT_FALSE(empty["environment"].contains("load"));
}

}  // namespace
}  // namespace anymps::lab::runbook::handoff
