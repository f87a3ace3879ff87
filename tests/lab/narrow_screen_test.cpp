// Tables on a terminal of 60 columns: no line is longer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/base/text_wrap.h"
#include "lab/check/report.h"
#include "lab/check/screen.h"
#include "lab/coverage/difference.h"
#include "lab/coverage/screen.h"
#include "lab/gibibyte.h"
#include "lab/host/env_screen.h"
#include "lab/metallib/screen.h"
#include "lab/runbook/doctor/screen.h"
#include "lab/runbook/log/screen.h"
#include "lab/runbook/plateau/screen.h"
#include "lab/runbook/profile/screen.h"
#include "lab/runbook/sweep/screen.h"
#include "lab/size/mac_screen.h"
#include "lab/size/screen.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

constexpr base::Terminal kNarrow{60, false};
constexpr const char* kLongSite = "/home/somebody/projects/pictures/training/loop/steps.py:1234";

void expect_narrow(const std::string& screen) {
  EXPECT_FALSE(screen.empty());
  std::istringstream lines(screen);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(base::length_of(line), kNarrow.width) << line;
}

TEST(NarrowScreen, Macs) { expect_narrow(size::mac_screen({15, 5}, kNarrow)); }

TEST(NarrowScreen, Size) {
  size::SizeReport report;
  report.macos = {15, 5};
  report.figures = {.block_bytes = 6 * kGiB, .resident_bytes = 7 * kGiB, .step_flops = 1e12, .step_bytes = 1e9};
  report.processes = 3;
  size::judge(report);
  expect_narrow(size::size_screen(report, kNarrow));
  report.batch = size::BatchFigures{"--batch-size",
                                    {8, 4, 2},
                                    {6 * kGiB, 4 * kGiB, 3 * kGiB},
                                    {7 * kGiB, 5 * kGiB, 4 * kGiB},
                                    {kGiB, kGiB / 2, kGiB / 4}};
  size::judge(report);
  expect_narrow(size::size_screen(report, kNarrow));
}

TEST(NarrowScreen, Log) {
  runbook::logbook::LoggedRun run;
  run.id = 12;
  run.started = "2026-11-18T05:41:02Z";
  run.verb = "plateau";
  run.state = runbook::logbook::RunState::kInterrupted;
  run.command = {"python", "a/rather/long/path/to/train.py", "--epochs", "10"};
  runbook::log::ListDocument document;
  document.head.logbook = "log.sqlite";
  document.runs = {run};
  expect_narrow(runbook::log::log_list_screen(document, kNarrow));
}

bool has(const std::string& screen, std::string_view text) { return screen.find(text) != std::string::npos; }

check::Finding finding_of(const char* rule, trace::SourceSite site) {
  check::Finding finding;
  finding.rule = check::check_rule(rule);
  finding.severity = finding.rule->severity;
  finding.site = std::move(site);
  finding.subject = "aten::_scaled_dot_product_efficient_attention_backward";
  finding.count = 12345;
  finding.total = 6'500'000'000;
  finding.detail = "See /opt/somewhere/lib/python3.13/site-packages/torch/nn/functional.py for it.";
  return finding;
}

TEST(NarrowScreen, Check) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("narrow_screen_of_a_rather_long_name_" + std::to_string(::getpid()) + ".py");
  std::ofstream(file) << "    loss = criterion(model(images.to(device)), labels.to(device)).item()  # waits\n";
  check::CheckReport report;
  expect_narrow(check::check_screen(report, kNarrow));  // which says that nothing was checked
  report.run.processes = 1;
  report.device_used = true;
  report.run.command = {"python", "/home/somebody/projects/pictures/training/loop/steps/of/all.py"};
  report.run.caveats = {"/home/somebody/projects/pictures/training/loop/steps/of/all.py is odd"};
  for (const check::CheckRule& rule : check::check_rules())
    report.findings.push_back(finding_of(rule.id.data(), {file, 1}));
  const std::string screen = check::check_screen(report, kNarrow);
  std::filesystem::remove(file);
  expect_narrow(screen);
  EXPECT_TRUE(has(screen, "      loss = criterion(model(images"));
  EXPECT_TRUE(has(screen, "      12345×  6.5 s"));
}

TEST(NarrowScreen, CheckRules) { expect_narrow(check::rules_screen(kNarrow)); }

TEST(NarrowScreen, Coverage) {
  expect_narrow(coverage::coverage_screen(gpu::history::operator_histories(), kNarrow));
  expect_narrow(coverage::coverage_screen(coverage::find_operators("torch.linalg.norm"), kNarrow));
  EXPECT_TRUE(has(coverage::coverage_screen(coverage::find_operators("gelu"), kNarrow), "gelu"));
  const auto newest = gpu::history::torch_releases().size() - 1;
  coverage::ReleaseDifference difference = coverage::release_difference(0, newest);
  difference.new_refusals =
      difference.gone_refusals = {gpu::history::refusal_histories().begin(), gpu::history::refusal_histories().end()};
  expect_narrow(coverage::difference_screen(difference, kNarrow));
  expect_narrow(coverage::difference_screen(coverage::release_difference(newest, newest), kNarrow));
}

TEST(NarrowScreen, Env) {
  const std::string path = "/home/somebody/projects/pictures/.venv/lib/python3.13/site-packages/torch";
  host::EnvironmentFacts facts;
  facts.version = "0.1.0";
  facts.executable = facts.cache = path;
  facts.machine.cpu = "Somebody's Processor of a Rather Long Name @ 3.20 GHz";
  facts.machine.cgroup_limit_bytes = kGiB;
  facts.python = {{"version", "3.13.1"},
                  {"executable", path},
                  {"torch", {{"version", "2.13.0+cpu"}, {"path", path}, {"cuda", nullptr}, {"hip", nullptr}}},
                  {"why_not", "there is no Mac named `m2-9gb`; anymps macs lists those that there are"},
                  {"said", {"a warning about something that some module in " + path + " did not expect"}}};
  facts.variables = {{"LD_LIBRARY_PATH", path}};
  expect_narrow(host::env_screen(facts, kNarrow));
  EXPECT_TRUE(has(host::env_screen(facts, {80, false, true}), "\ncache        " + path + "\n"));
  facts.python = {{"error", path + "/python ended with status 9"}};
  expect_narrow(host::env_screen(facts, kNarrow));
}

runbook::document::Failure failure_of_a_trial() {
  return {
      .outcome = runbook::document::Outcome::kHung,
      .why = "it said nothing for 300 s, which is longer than any step before it took",
      .status = 124,
      .stacks = {{.pid = 12345,
                  .role = "main",
                  .stack =
                      "  File \"/home/somebody/projects/pictures/training/loop/steps.py\", line 12 in wait_for_all"}},
      .output = ""};
}

TEST(NarrowScreen, Profile) {
  runbook::profile::ProfileDocument document;
  document.head.verdict = runbook::document::Verdict::kGood;
  runbook::profile::Profile& profile = document.profile;
  profile.story = "Most of a step is spent in /home/somebody/projects/pictures/training/loop/steps.py, loading.";
  profile.failure = failure_of_a_trial();
  profile.full.part.window.emplace().step_seconds = 0.5;
  profile.full.shares = {.input = 0.5, .host = 0.1, .device = 0.2, .waiting = 0.1, .fallback = 0.1};
  profile.data.loading.stages = {
      {"decoding", 0.31}, {"augmentation", 0.32}, {"collation", 0.12}, {"waiting for the disk", 0.25}};
  profile.data.loading.others = {{.function = "a_function_of_the_user_with_a_name", .site = kLongSite, .share = 0.4}};
  profile.operators = {{.name = "aten::_scaled_dot_product_efficient_attention_backward",
                        .count = 123456,
                        .self_seconds = 0.1234,
                        .queued_seconds = 0.2345,
                        .waited_seconds = 0.3456}};
  profile.waits = {{.name = "aten::_local_scalar_dense", .site = kLongSite, .count = 1234, .seconds = 1.5}};
  profile.workers = {{.loading = {}, .workers = 4, .outcome = runbook::document::Outcome::kRan}};
  profile.workers[0].loading.batch_seconds = 0.1;
  profile.workers[0].loading.descriptors = 123;
  profile.notes = {{std::string("See ") + kLongSite}};
  const std::string screen = runbook::profile::profile_screen(document, kNarrow);
  expect_narrow(screen);
  for (const char* kept : {"steps.py:1234", "waited for", "it hung"}) EXPECT_TRUE(has(screen, kept)) << kept;
}

TEST(NarrowScreen, Sweep) {
  runbook::sweep::SweepPoint point;
  point.batch = 1024;
  point.outcome = runbook::document::Outcome::kRan;
  point.samples_per_second = 12345.6;
  point.samples_low = 12000.1;
  point.samples_high = 13000.2;
  point.step_seconds = 0.1234;
  point.first_step_seconds = 12.3;
  point.peak_bytes = 7 * kGiB;
  point.limit_bytes = 14 * kGiB;
  runbook::sweep::SweepPoint failed;
  failed.batch = 2048;
  failed.outcome = runbook::document::Outcome::kCrashed;
  failed.why = "it ended with status 1";
  failed.output = std::string("Traceback\n  File ") + kLongSite + " in a_function_of_the_user";
  const std::string why = std::string("of ") + kLongSite;
  runbook::sweep::SweepSeries series;
  series.axes = {{"--data-set", kLongSite}};
  series.points = {point, failed};
  series.knee = {.batch = 1024, .samples_per_second = 12345.6, .why = why};
  series.edge = {.largest_good = 1024, .smallest_bad = 2048, .extrapolated = false, .why = why};
  runbook::sweep::SweepDocument document;
  document.head.verdict = runbook::document::Verdict::kGood;
  document.argument = "--batch-size";
  document.series = {series};
  const std::string screen = runbook::sweep::sweep_screen(document, kNarrow);
  expect_narrow(screen);
  for (const char* kept : {"samples/s", "peak", "12345.6", "7.0 GiB"}) EXPECT_TRUE(has(screen, kept)) << kept;
}

TEST(NarrowScreen, Plateau) {
  const std::uint64_t bytes = 1023 * kGiB / 1024;
  const auto number = static_cast<double>(bytes);
  const runbook::plateau::Epoch epoch = {.index = 12,
                                         .steps = 12345,
                                         .seconds = 0.1234,
                                         .tensor_bytes = bytes,
                                         .flushed_bytes = bytes,
                                         .driver_bytes = bytes,
                                         .resident_bytes = bytes};
  runbook::plateau::PlateauDocument document;
  document.head.verdict = runbook::document::Verdict::kBad;
  document.measured.failure = failure_of_a_trial();
  runbook::plateau::MemoryCurve& curve = document.measured.curve;
  curve.epochs = {epoch, epoch};
  curve.slope = {.bytes_per_epoch = number, .low = number, .high = number};
  curve.sites = {{.site = kLongSite,
                  .bytes_per_epoch = number,
                  .count_per_epoch = 123.4,
                  .example = "float32 [128, 3, 224, 224]"}};
  const std::string screen = runbook::plateau::plateau_screen(document, kNarrow);
  expect_narrow(screen);
  for (const char* kept : {"after", "driver", "steps.py:1234"}) EXPECT_TRUE(has(screen, kept)) << kept;
}

TEST(NarrowScreen, Doctor) {
  runbook::doctor::DoctorDocument document;
  document.head.verdict = runbook::document::Verdict::kBad;
  document.head.run = 123456;
  document.strict = true;
  document.gates = {{.name = "mps in PyTorch",
                     .state = runbook::doctor::GateState::kRed,
                     .value = "no: /home/somebody/projects/pictures/.venv/lib/python3.13/site-packages",
                     .why = "PyTorch in /home/somebody/projects/pictures/.venv/lib/python3.13/site-packages is odd",
                     .remedy = "pip install --force-reinstall --index-url https://download.pytorch.org/whl/cpu torch"}};
  const std::string screen = runbook::doctor::doctor_screen(document, kNarrow);
  expect_narrow(screen);
  EXPECT_TRUE(has(screen, "https://download.pytorch.org/whl/cpu"));
}

TEST(NarrowScreen, MetalList) {
  const json buffer = {{"kind", "buffer"},
                       {"name", "exponential_averages"},
                       {"type", "float4"},
                       {"unused", false},
                       {"binding", 12},
                       {"count", 4},
                       {"access", "read_write"},
                       {"address_space", 1},
                       {"size", 16},
                       {"buffer_size", 0},
                       {"function_constant", "with_averages"}};
  const json position = {
      {"kind", "threads_per_threadgroup"}, {"name", "group_size"}, {"type", "uint3"}, {"unused", true}};
  const json constant = {{"id", 12}, {"name", "with_exponential_averages"}, {"type", "bool"}, {"required", false}};
  const json function = {{"name", "fused_adam_amsgrad_float_float_half_bfloat_with_averages_of_all"},
                         {"type", "kernel"},
                         {"metal", "3.1"},
                         {"air", "2.6"},
                         {"arguments", {buffer, position}},
                         {"threadgroup_bytes", 1024},
                         {"max_total_threads", nullptr},
                         {"function_constants", {constant}}};
  json refused = function;
  refused["error"] = "it calls air.something.of.which.nothing.is.known.at.all.by.anyone.here";
  const std::string screen = metallib::metal_screen({{"functions", {function, refused}}}, kNarrow);
  expect_narrow(screen);
  for (const char* kept : {"read_write", "exponential_averages: float4", "with_averages"}) {
    EXPECT_TRUE(has(screen, kept)) << kept;
  }
}

// Behind no file at all, which is as little of a terminal as a pipe.
base::Terminal with_columns(const char* columns) {
  ::setenv("COLUMNS", columns, 1);
  const base::Terminal terminal = base::Terminal::behind(-1);
  ::unsetenv("COLUMNS");
  return terminal;
}

TEST(NarrowScreen, ColumnsIsTheWidth) {
  for (const auto& [columns, width] : {std::pair{"40", 40U}, {"61", 61U}, {"1000", 1000U}}) {
    EXPECT_EQ(with_columns(columns).width, width);
    EXPECT_EQ(with_columns(columns).room(), width);
  }
  for (const char* ignored : {"", "39", "1001", "-60", "60.5", "60 ", "wide"}) {
    EXPECT_EQ(with_columns(ignored).width, 80U) << ignored;
    EXPECT_TRUE(with_columns(ignored).endless) << ignored;
  }
}

}  // namespace
}  // namespace anymps::lab
