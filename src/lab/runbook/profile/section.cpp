#include "lab/runbook/profile/section.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/html/escape.h"
#include "lab/html/page.h"

namespace anymps::lab::runbook::profile {
namespace {

using Run = section::DocumentRun<ProfileDocument>;
using Runs = section::DocumentRuns<ProfileDocument>;

constexpr std::array kStages = {"storage", "decode", "augment", "collate", "other"};

html::BarRow shares_row(std::string label, const std::optional<Shares>& shares) {
  html::BarRow row{std::move(label), {}};
  if (!shares) return row;
  row.segments = {{"input", shares->input, 0},
                  {"host", shares->host, 1},
                  {"device", shares->device, 2},
                  {"waiting", shares->waiting, 3},
                  {"fallback", shares->fallback, 4}};
  return row;
}

std::string shares_chart(const Runs& runs) {
  html::BarChart chart{"Where the time of a step goes", "", html::Unit::kShare, {}};
  for (const Run& run : runs) {
    chart.rows.push_back(shares_row(runs.size() > 1 ? run.label : "full step", run.document.profile.full.shares));
  }
  return html::draw(chart);
}

std::string parts_chart(const Profile& profile) {
  html::BarChart chart{"Data alone, forward alone, all of it", "seconds for one step", html::Unit::kSeconds, {}};
  const auto row = [&chart](const char* label, const std::optional<double>& seconds, std::size_t style) {
    if (seconds) chart.rows.push_back({label, {{"", *seconds, style}}});
  };
  row("data only", profile.data.part.batch_seconds, 0);
  row("forward only, the same batch", profile.forward.seconds, 2);
  row("full step", profile.step_seconds(), 5);
  return html::draw(chart);
}

std::string stages_chart(const Profile& profile) {
  html::BarChart chart{"Where the input's time goes", "share of a batch's time", html::Unit::kShare, {}};
  html::BarRow row{"one batch", {}};
  for (std::size_t style = 0; style < kStages.size(); ++style) {
    const auto found = profile.data.loading.stages.find(kStages[style]);
    if (found != profile.data.loading.stages.end()) row.segments.push_back({kStages[style], found->second, style});
  }
  if (!row.segments.empty()) chart.rows.push_back(std::move(row));
  return html::draw(chart);
}

std::string workers_chart(const Profile& profile) {
  html::LineChart chart;
  chart.title = "Time of a batch over loader workers";
  chart.x.title = "workers";
  chart.x.is_whole = true;
  chart.y = {"", html::Unit::kSeconds, html::AxisKind::kLinear, true, {}, {}};
  html::ChartSeries series{"", 0, {}};
  for (const WorkersRow& row : profile.workers) {
    if (!row.loading.batch_seconds) continue;
    const auto workers = static_cast<double>(row.workers);
    const double seconds = *row.loading.batch_seconds;
    std::string text = fmt::format("{} workers, {}", html::value_text(workers, html::Unit::kNumber),
                                   html::value_text(seconds, html::Unit::kSeconds));
    series.points.push_back({workers, seconds, {}, {}, std::move(text)});
  }
  chart.series.push_back(std::move(series));
  return html::draw(chart);
}

std::string workers_table(const Profile& profile) {
  section::Table table("Loader workers", {"#workers", "outcome", "#batch", "#descriptors", "#resident"});
  for (const WorkersRow& row : profile.workers) {
    const auto tone = row.outcome == document::Outcome::kRan ? section::Tone::kGood : section::Tone::kBad;
    table.add({section::number_cell(static_cast<double>(row.workers)), section::badge_cell(tone, word_of(row.outcome)),
               section::number_cell(row.loading.batch_seconds, html::Unit::kSeconds),
               section::number_cell(row.loading.descriptors),
               section::number_cell(row.loading.resident_bytes, html::Unit::kBytes)});
  }
  return table.html();
}

std::string operators_table(const Profile& profile) {
  section::Table table("Operators", {"operator", "#count", "#self", "#queued", "#waited", "#waited/self"});
  for (const OperatorRow& row : profile.operators) {
    const auto ratio = row.self_seconds > 0 ? std::optional(row.waited_seconds / row.self_seconds) : std::nullopt;
    table.add({section::code_cell(row.name), section::number_cell(static_cast<double>(row.count)),
               section::number_cell(row.self_seconds, html::Unit::kSeconds),
               section::number_cell(row.queued_seconds, html::Unit::kSeconds),
               section::number_cell(row.waited_seconds, html::Unit::kSeconds), section::number_cell(ratio)});
  }
  table.sort_by(2);
  return table.html();
}

std::string waits_table(const Profile& profile) {
  section::Table table("Waits", {"operator", "place", "#count", "#seconds"});
  for (const WaitRow& row : profile.waits) {
    table.add({section::code_cell(row.name), section::code_cell(row.site),
               section::number_cell(static_cast<double>(row.count)),
               section::number_cell(row.seconds, html::Unit::kSeconds)});
  }
  table.sort_by(3);
  return table.html();
}

std::string fallbacks_table(const Profile& profile) {
  section::Table table("Fallbacks", {"operator", "place", "#count"});
  for (const FallbackRow& row : profile.fallbacks) {
    table.add({section::code_cell(row.name), section::code_cell(row.site),
               section::number_cell(static_cast<double>(row.count))});
  }
  table.sort_by(2);
  return table.html();
}

std::string profile_cards(const Profile& profile) {
  std::string cards;
  const auto add = [&cards](std::optional<double> seconds, const char* label) {
    if (seconds) cards += html::card(html::value_text(*seconds, html::Unit::kSeconds), label);
  };
  if (const std::optional<StepWindow>& window = profile.full.part.window) {
    add(window->step_seconds, "a full step");
    add(window->first_epoch_step_seconds, "a step of the first epoch");
    add(window->steady_step_seconds, "a step of the steady epochs");
  }
  cards += html::card(html::value_text(static_cast<double>(profile.window.steps), html::Unit::kNumber),
                      fmt::format("steps, after {} to warm up", profile.window.warm_up));
  return "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string story(const Profile& profile) {
  return profile.story.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", html::escaped(profile.story));
}

}  // namespace

std::string profile_section(const Runs& runs) {
  const std::string together = runs.size() > 1 ? shares_chart(runs) : "";
  return together + section::beside(runs, [](const Run& run) {
           const Profile& profile = run.document.profile;
           return story(profile) + profile_cards(profile) +
                  section::chart_row(shares_chart({run}) + parts_chart(profile) + stages_chart(profile) +
                                     workers_chart(profile)) +
                  section::titled("Operators", operators_table(profile)) +
                  section::titled("Waits", waits_table(profile)) +
                  section::titled("Fallbacks to the CPU", fallbacks_table(profile)) +
                  section::titled("Loader workers", workers_table(profile)) +
                  section::titled("Notes", section::bullets(profile.notes.value_or(std::vector<std::string>())));
         });
}

}  // namespace anymps::lab::runbook::profile
