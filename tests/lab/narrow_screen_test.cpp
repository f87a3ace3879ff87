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
#include "lab/coverage/screen.h"
#include "lab/gibibyte.h"
#include "lab/host/env_screen.h"
#include "lab/metallib/screen.h"
#include "lab/runbook/doctor/screen.h"
#include "lab/runbook/logbook/screen.h"
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
  const nlohmann::json run = {
      {"id", 12},          {"started", "2026-11-18T05:41:02Z"},
      {"verb", "plateau"}, {"state", "interrupted"},
      {"verdict", "open"}, {"command", {"python", "a/rather/long/path/to/train.py", "--epochs", "10"}}};
  expect_narrow(runbook::logbook::log_list_screen({{"logbook", "log.sqlite"}, {"runs", {run}}}, kNarrow));
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

json failure_of_a_trial() {
  return {
      {"outcome", "timed out"},
      {"why", "it said nothing for 300 s, which is longer than any step before it took"},
      {"stacks",
       {{{"pid", 12345},
         {"role", "main"},
         {"stack", "  File \"/home/somebody/projects/pictures/training/loop/steps.py\", line 12 in wait_for_all"}}}}};
}

TEST(NarrowScreen, Profile) {
  const json operators = {{"name", "aten::_scaled_dot_product_efficient_attention_backward"},
                          {"count", 123456},
                          {"self_seconds", 0.1234},
                          {"queued_seconds", 0.2345},
                          {"waited_seconds", 0.3456}};
  const json document = {
      {"verdict", "good"},
      {"story", "Most of a step is spent in /home/somebody/projects/pictures/training/loop/steps.py, loading."},
      {"failure", failure_of_a_trial()},
      {"full", {{"step_seconds", 0.5}, {"shares", {{"input", 0.5}, {"host", 0.1}}}}},
      {"data",
       {{"stages", {{"decoding", 0.31}, {"augmentation", 0.32}, {"collation", 0.12}, {"waiting for the disk", 0.25}}},
        {"others", {{{"share", 0.4}, {"function", "a_function_of_the_user_with_a_name"}, {"site", kLongSite}}}}}},
      {"operators", {operators}},
      {"waits", {{{"name", "aten::_local_scalar_dense"}, {"count", 1234}, {"seconds", 1.5}, {"site", kLongSite}}}},
      {"workers", {{{"workers", 4}, {"outcome", "ran"}, {"batch_seconds", 0.1}, {"descriptors", 123}}}},
      {"notes", {std::string("See ") + kLongSite}}};
  const std::string screen = runbook::profile::profile_screen(document, kNarrow);
  expect_narrow(screen);
  EXPECT_TRUE(has(screen, "steps.py:1234"));
  EXPECT_TRUE(has(screen, "waited for"));
}

TEST(NarrowScreen, Sweep) {
  const json point = {{"outcome", "ran"},           {"batch", 1024},           {"samples_per_second", 12345.6},
                      {"samples_low", 12000.1},     {"samples_high", 13000.2}, {"step_seconds", 0.1234},
                      {"first_step_seconds", 12.3}, {"peak_bytes", 7 * kGiB},  {"watermark_share", 0.5}};
  const json failed = {{"outcome", "failed"},
                       {"batch", 2048},
                       {"why", "it ended with status 1"},
                       {"output", std::string("Traceback\n  File ") + kLongSite + " in a_function_of_the_user"}};
  const json mark = {{"batch", 1024}, {"largest_good", 1024}, {"why", std::string("of ") + kLongSite}};
  const json series = {{"axes", {{"--data-set", kLongSite}}},
                       {"points", {point, failed}},
                       {"knee", mark},
                       {"edge", mark},
                       {"recommended", mark}};
  const json document = {{"verdict", "good"}, {"argument", "--batch-size"}, {"series", {series}}};
  const std::string screen = runbook::sweep::sweep_screen(document, kNarrow);
  expect_narrow(screen);
  for (const char* kept : {"samples/s", "peak", "12345.6", "7.0 GiB"}) EXPECT_TRUE(has(screen, kept)) << kept;
}

TEST(NarrowScreen, Plateau) {
  const std::uint64_t bytes = 1023 * kGiB / 1024;
  const json epoch = {{"index", 12},
                      {"steps", 12345},
                      {"seconds", 0.1234},
                      {"tensor_bytes", bytes},
                      {"flushed_bytes", bytes},
                      {"driver_bytes", bytes},
                      {"resident_bytes", bytes}};
  const json site = {{"site", kLongSite},
                     {"bytes_per_epoch", bytes},
                     {"count_per_epoch", 123.4},
                     {"example", "float32 [128, 3, 224, 224]"}};
  const json document = {{"verdict", "bad"},
                         {"failure", failure_of_a_trial()},
                         {"epochs", {epoch, epoch}},
                         {"slope", {{"bytes_per_epoch", bytes}, {"low", bytes}, {"high", bytes}}},
                         {"sites", {site}}};
  const std::string screen = runbook::plateau::plateau_screen(document, kNarrow);
  expect_narrow(screen);
  for (const char* kept : {"after", "driver", "steps.py:1234"}) EXPECT_TRUE(has(screen, kept)) << kept;
}

TEST(NarrowScreen, Doctor) {
  const json gate = {
      {"name", "mps in PyTorch"},
      {"state", "red"},
      {"value", "no: /home/somebody/projects/pictures/.venv/lib/python3.13/site-packages"},
      {"why", "PyTorch in /home/somebody/projects/pictures/.venv/lib/python3.13/site-packages is odd"},
      {"remedy", "pip install --force-reinstall --index-url https://download.pytorch.org/whl/cpu torch"}};
  const json document = {{"gates", {gate}}, {"verdict", "bad"}, {"strict", true}, {"run", 123456}};
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
