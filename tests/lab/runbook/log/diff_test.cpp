#include "lab/runbook/log/diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/base/text_wrap.h"
#include "lab/has_text.h"
#include "lab/runbook/log/export.h"
#include "lab/runbook/log/fields.h"
#include "lab/runbook/log/screen.h"
#include "lab/runbook/sweep/document.h"

namespace anymps::lab::runbook::log {
namespace {

using nlohmann::json;

// A sweep with one point.
RunWithSamples swept(double samples_per_second, double spread = 0.01) {
  RunWithSamples run;
  run.run.id = 1;
  run.run.verb = "sweep";
  run.run.state = logbook::RunState::kDone;
  run.run.command = {"python", "train.py"};
  run.run.facts = {{"torch", "2.13.0"},
                   {"power_adapter", true},
                   {"low_power_mode", false},
                   {"threads", 8},
                   {"load", 0.2},
                   {"machine", {{"cores", 8}, {"cores_allowed", 8}, {"system", "macOS 15.5"}}},
                   {"swap", {{"used_bytes", 0}}},
                   {"thermal", {{"speed_limit", 1.0}}},
                   {"environment", json::object()},
                   {"cache_mounts", json::array()},
                   {"settings", {{"mac", nullptr}}}};
  sweep::SweepPoint point;
  point.batch = 16;
  point.outcome = document::Outcome::kRan;
  point.samples_per_second = samples_per_second;
  point.samples_low = samples_per_second * (1 - spread);
  point.samples_high = samples_per_second * (1 + spread);
  point.step_seconds = 16 / samples_per_second;
  point.peak_bytes = 1000;
  sweep::SweepPoint failed;
  failed.batch = 32;
  failed.outcome = document::Outcome::kOutOfMemory;
  sweep::SweepSeries series;
  series.axes = {{"workers", "0"}};
  series.points = {point, failed};
  sweep::SweepDocument document;
  document.series = {series};
  run.run.document = document::to_json(document);
  return run;
}

std::string conclusion(const RunWithSamples& before, const RunWithSamples& after) {
  return log_diff(before, after).conclusion;
}

std::vector<std::string> explanations(const RunWithSamples& before, const RunWithSamples& after) {
  std::vector<std::string> names;
  for (const Explanation& one : log_diff(before, after).explanations) names.push_back(one.name);
  return names;
}

TEST(LogDiff, FiguresAreComparedAtTheSameBatch) {
  const DiffDocument diff = log_diff(swept(100), swept(88));
  ASSERT_FALSE(diff.figures.empty());
  EXPECT_EQ(diff.figures[0].name, "samples_per_second");
  EXPECT_EQ(diff.figures[0].at, "batch 16, workers \"0\"");
  EXPECT_NEAR(diff.figures[0].change.value_or(0), -0.12, 1e-9);
  EXPECT_NEAR(diff.speed_change.value_or(0), -0.12, 1e-9);
  EXPECT_TRUE(has(conclusion(swept(100), swept(88)), "12.0% slower; nothing recorded explains it"));
}

TEST(LogDiff, WithinTheSpreadThereIsNothingToExplain) {
  RunWithSamples after = swept(92, 0.1);
  after.run.facts["power_adapter"] = false;
  EXPECT_TRUE(has(conclusion(swept(100, 0.1), after), "within the spread"));
  EXPECT_TRUE(has(conclusion(swept(100, 0.001), swept(99, 0.001)), "less than the 3%"));
}

TEST(LogDiff, AThermalLimitHasABound) {
  RunWithSamples after = swept(88);
  // It began cool; the samples tell.
  after.samples = {{{"thermal", {{"speed_limit", 1.0}}}}, {{"thermal", {{"speed_limit", 0.8}}}}};
  const DiffDocument diff = log_diff(swept(100), after);
  ASSERT_EQ(diff.explanations.size(), 1U);
  EXPECT_EQ(diff.explanations[0].name, "thermal limit");
  EXPECT_NEAR(diff.explanations[0].up_to.value_or(0), 0.2, 1e-9);
  EXPECT_TRUE(has(diff.conclusion, "can explain all of it (up to 20%)"));
  RunWithSamples slow = swept(50);
  slow.samples = after.samples;
  EXPECT_TRUE(has(conclusion(swept(100), slow), "at most 20% of the speed, and nothing recorded explains the rest"));
}

TEST(LogDiff, ThreadsAndLoadHaveBounds) {
  RunWithSamples after = swept(60);
  after.run.facts["threads"] = 4;
  EXPECT_TRUE(has(conclusion(swept(100), after), "threads can explain all of it (up to 50%)"));
  after = swept(60);
  after.run.facts["load"] = 4.2;
  EXPECT_NEAR(log_diff(swept(100), after).explanations.at(0).up_to.value_or(0), 0.5, 1e-9);
}

TEST(LogDiff, WhatHelpedTheSlowerRunDoesNotExplainIt) {
  RunWithSamples before = swept(100);
  before.run.facts["power_adapter"] = false;
  before.run.facts["threads"] = 4;
  EXPECT_TRUE(explanations(before, swept(80)).empty());
  EXPECT_EQ(explanations(before, swept(120)), (std::vector<std::string>{"power adapter off", "threads"}));
  // It is among what changed, all the same.
  const std::vector<Change> changed = log_diff(before, swept(80)).changed;
  EXPECT_NE(std::ranges::find(changed, "power_adapter", &Change::name), changed.end());
}

TEST(LogDiff, TheScreenHasWhatPeopleCompareInUnits) {
  RunWithSamples before = swept(100);
  RunWithSamples after = swept(80);
  before.run.facts["memory_free_bytes"] = 8ULL << 30U;
  after.run.facts["memory_free_bytes"] = 3ULL << 30U;
  after.run.facts["thermal"]["speed_limit"] = 0.75;
  after.run.facts["settings"]["a_setting_with_a_very_long_name_of_its_own"] = 3;
  const std::string screen = log_diff_screen(log_diff(before, after), {60, false});
  EXPECT_TRUE(has(screen, "  memory free           8.0 GiB -> 3.0 GiB\n")) << screen;
  EXPECT_TRUE(has(screen, "  speed allowed         100% -> 75%\n")) << screen;
  EXPECT_TRUE(has(screen, "  settings.a…of_its_own - -> 3\n")) << screen;
  // What was set comes before what was so at the moment.
  EXPECT_LT(screen.find("settings.a"), screen.find("memory free"));
  for (std::size_t begin = 0; begin < screen.size(); begin = screen.find('\n', begin) + 1) {
    EXPECT_LE(base::length_of(std::string_view(screen).substr(begin, screen.find('\n', begin) - begin)), 60U) << screen;
  }
}

TEST(TextWrap, NamesAreCutInTheMiddle) {
  EXPECT_EQ(base::keep_ends("short", 8), "short");
  EXPECT_EQ(base::keep_ends("samples_per_second", 9), "samp…cond");
  EXPECT_EQ(base::keep_ends("größenordnung", 7), "grö…ung");
  EXPECT_EQ(base::length_of(base::keep_ends("samples_per_second", 10)), 10U);
}

TEST(LogDiff, WhatHasNoBoundIsSaidToHaveNone) {
  struct Case {
    const char* pointer;
    json value;
    const char* name;
  };
  const Case cases[] = {
      {"/power_adapter", false, "power adapter off"},
      {"/low_power_mode", true, "low-power mode"},
      {"/swap/used_bytes", 1 << 30, "swap"},
      {"/cache_mounts", json::array({{{"name", "torch"}, {"network", true}}}), "cache on a network mount"},
      {"/torch", "2.14.0", "torch"},
      {"/environment/OMP_PROC_BIND", "true", "environment variables"},
      {"/settings/mac", "m2-8gb", "simulated Mac"}};
  for (const Case& one : cases) {
    RunWithSamples after = swept(80);
    after.run.facts[json::json_pointer(one.pointer)] = one.value;
    EXPECT_EQ(explanations(swept(100), after), std::vector<std::string>{one.name}) << one.pointer;
    EXPECT_TRUE(has(conclusion(swept(100), after), "is not known: change that alone back")) << one.pointer;
  }
}

TEST(LogDiff, GatesThatChangedAreNamed) {
  RunWithSamples before = swept(100);
  before.run.verb = "doctor";
  before.run.document = {{"gates", {{{"name", "swap"}, {"state", "green"}}}}};
  RunWithSamples after = before;
  after.run.document["gates"][0]["state"] = "red";
  const DiffDocument diff = log_diff(before, after);
  ASSERT_EQ(diff.changed.size(), 1U);
  EXPECT_EQ(diff.changed[0].name, "gate.swap");
  EXPECT_EQ(diff.changed[0].after, "red");
}

TEST(LogDiff, RunsOfDifferentKindsHaveNoSpeedInCommon) {
  RunWithSamples doctor = swept(100);
  doctor.run.verb = "doctor";
  EXPECT_TRUE(has(conclusion(doctor, swept(100)), "No figure of speed"));
  RunWithSamples empty;
  EXPECT_TRUE(has(conclusion(empty, empty), "No figure of speed"));
}

TEST(LogDocuments, AreReadAsTheyWereWritten) {
  RunWithSamples after = swept(60);
  after.run.facts["threads"] = 4;
  after.samples = {{{"load", 0.5}}};
  const json diff = document::to_json(log_diff(swept(100), after));
  EXPECT_EQ(diff["changed"][0]["kind"], "circumstance");
  EXPECT_EQ(document::to_json(document::described_from<DiffDocument>(diff)), diff);
  ShowDocument shown;
  shown.head.logbook = "log.sqlite";
  shown.run = after;
  shown.figures = {{"samples_per_second", "batch 16", document::FigureKind::kRate, 100, {}, {}}};
  shown.parts = {"batch 16"};
  shown.notes = {{1, "2026-11-18T05:41:02Z", 1, "rejected", "channels_last", "no faster"}};
  const json run = document::to_json(shown);
  EXPECT_EQ(run["run"]["state"], "done");
  EXPECT_EQ(run["status"], 0);
  EXPECT_EQ(document::to_json(document::described_from<ShowDocument>(run)), run);
}

TEST(LogExport, CellsOfCsvAreQuoted) {
  RunWithSamples run = swept(100);
  run.run.command = {"python", "a,b", "say \"hi\"", "two\nlines"};
  const std::string text = log_to_csv({run});
  EXPECT_TRUE(has(text, "\"python a,b say \"\"hi\"\" two\nlines\""));
  const std::string head = text.substr(0, text.find('\n'));
  for (const LogField& field : log_fields()) EXPECT_TRUE(has("," + head + ",", "," + std::string(field.name) + ","));
}

TEST(LogExport, PipesInMarkdownAreEscaped) {
  RunWithSamples run = swept(100);
  run.run.facts["resolution"] = "a|b";
  EXPECT_TRUE(has(log_to_markdown({run}), "a\\|b"));
  EXPECT_TRUE(has(log_to_markdown({run}), "samples_per_second 100 samples/s at batch 16, workers \"0\""));
}

TEST(LogExport, TheParagraphTellsWhatIsNotRecorded) {
  RunWithSamples run = swept(100);
  run.run.facts.update({{"batch", 16}, {"seed", 7}, {"worker_init", false}, {"deterministic", true}, {"amp", false}});
  const std::string text = log_to_paragraph(run);
  EXPECT_TRUE(has(text, "seed: 7"));
  EXPECT_TRUE(has(text, "a worker_init_fn: no"));
  EXPECT_TRUE(has(text, "deterministic algorithms: yes"));
  EXPECT_TRUE(has(text, "Not recorded: "));
  EXPECT_FALSE(has(text, "simulated"));
  run.run.facts["device"] = "mps";
  run.run.facts["machine"]["system"] = "Debian";
  EXPECT_TRUE(has(log_to_paragraph(run), "simulated on a CPU"));
}

TEST(LogFields, EachHasAPlaceOfItsOwn) {
  for (const LogField& field : log_fields()) {
    EXPECT_EQ(&log_field(field.name), &field) << field.name;
    EXPECT_EQ(text_of(field, json::object()), "-") << field.name;
    EXPECT_EQ(text_of(field, json()), "-") << field.name;
  }
}

}  // namespace
}  // namespace anymps::lab::runbook::log
