#include "lab/runbook/profile/section.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::profile {
namespace {

using nlohmann::json;

constexpr std::array kShares = {"input", "host", "device", "waiting", "fallback"};
constexpr std::array kStages = {"storage", "decode", "augment", "collate", "other"};

template <std::size_t kCount>
html::BarRow stacked_row(std::string label, const json& values, const std::array<const char*, kCount>& names) {
  html::BarRow row{std::move(label), {}};
  std::size_t style = 0;
  for (const char* name : names) {
    if (const auto value = document::number_in(values, name)) row.segments.push_back({name, *value, style});
    ++style;
  }
  return row;
}

std::string shares_chart(const section::ReportRuns& runs) {
  html::BarChart chart{"Where the time of a step goes", "", html::Unit::kShare, {}};
  for (const section::ReportRun& run : runs) {
    chart.rows.push_back(stacked_row(runs.size() > 1 ? run.label : "full step",
                                     document::object_in(document::object_in(run.document, "full"), "shares"),
                                     kShares));
  }
  return html::draw(chart);
}

std::string parts_chart(const json& document) {
  html::BarChart chart{"Data alone, forward alone, all of it", "seconds for one step", html::Unit::kSeconds, {}};
  const auto row = [&chart](const char* label, const std::optional<double>& seconds, std::size_t style) {
    if (seconds) chart.rows.push_back({label, {{"", *seconds, style}}});
  };
  row("data only", document::number_in(document::object_in(document, "data"), "batch_seconds"), 0);
  row("forward only, the same batch", document::number_in(document::object_in(document, "forward"), "seconds"), 2);
  row("full step", document::number_in(document::object_in(document, "full"), "step_seconds"), 5);
  return html::draw(chart);
}

std::string stages_chart(const json& document) {
  html::BarChart chart{"Where the input's time goes", "share of a batch's time", html::Unit::kShare, {}};
  html::BarRow row =
      stacked_row("one batch", document::object_in(document::object_in(document, "data"), "stages"), kStages);
  if (!row.segments.empty()) chart.rows.push_back(std::move(row));
  return html::draw(chart);
}

std::string workers_chart(const json& document) {
  html::LineChart chart;
  chart.title = "Time of a batch over loader workers";
  chart.x.title = "workers";
  chart.x.is_whole = true;
  chart.y = {"", html::Unit::kSeconds, html::AxisKind::kLinear, true, {}, {}};
  html::ChartSeries series{"", 0, {}};
  for (const json& row : document::list_in(document, "workers")) {
    const auto workers = document::number_in(row, "workers");
    const auto seconds = document::number_in(row, "batch_seconds");
    if (!workers || !seconds) continue;
    std::string text = fmt::format("{} workers, {}", html::value_text(*workers, html::Unit::kNumber),
                                   html::value_text(*seconds, html::Unit::kSeconds));
    series.points.push_back({*workers, *seconds, {}, {}, std::move(text)});
  }
  chart.series.push_back(std::move(series));
  return html::draw(chart);
}

std::string workers_table(const json& document) {
  section::Table table("Loader workers", {"#workers", "outcome", "#batch", "#descriptors", "#resident"});
  for (const json& row : document::list_in(document, "workers")) {
    const std::string outcome = document::words_in(row, "outcome");
    table.add({section::number_cell(document::number_in(row, "workers")),
               section::badge_cell(outcome == "ran" ? section::Tone::kGood : section::Tone::kBad, outcome),
               section::number_cell(document::number_in(row, "batch_seconds"), html::Unit::kSeconds),
               section::number_cell(document::number_in(row, "descriptors")),
               section::number_cell(document::number_in(row, "resident_bytes"), html::Unit::kBytes)});
  }
  return table.html();
}

std::string operators_table(const json& document) {
  section::Table table("Operators", {"operator", "#count", "#self", "#queued", "#waited", "#waited/self"});
  for (const json& row : document::list_in(document, "operators")) {
    const auto self = document::number_in(row, "self_seconds");
    const auto waited = document::number_in(row, "waited_seconds");
    table.add({section::code_cell(document::words_in(row, "name")),
               section::number_cell(document::number_in(row, "count")),
               section::number_cell(self, html::Unit::kSeconds),
               section::number_cell(document::number_in(row, "queued_seconds"), html::Unit::kSeconds),
               section::number_cell(waited, html::Unit::kSeconds),
               section::number_cell(self && waited && *self > 0 ? std::optional(*waited / *self) : std::nullopt)});
  }
  table.sort_by(2);
  return table.html();
}

std::string places_table(const char* label, const json& rows, bool timed) {
  std::vector<std::string> columns = {"operator", "place", "#count"};
  if (timed) columns.emplace_back("#seconds");
  section::Table table(label, columns);
  for (const json& row : rows) {
    std::vector<section::Cell> cells = {section::code_cell(document::words_in(row, "name")),
                                        section::code_cell(document::words_in(row, "site")),
                                        section::number_cell(document::number_in(row, "count"))};
    if (timed) cells.push_back(section::number_cell(document::number_in(row, "seconds"), html::Unit::kSeconds));
    table.add(std::move(cells));
  }
  table.sort_by(timed ? 3 : 2);
  return table.html();
}

std::string profile_cards(const json& document) {
  const json& full = document::object_in(document, "full");
  std::string cards;
  const auto add = [&cards](const json& object, const char* field, const char* label) {
    if (const auto seconds = document::number_in(object, field))
      cards += html::card(html::value_text(*seconds, html::Unit::kSeconds), label);
  };
  add(full, "step_seconds", "a full step");
  add(full, "first_epoch_step_seconds", "a step of the first epoch");
  add(full, "steady_step_seconds", "a step of the steady epochs");
  const json& window = document::object_in(document, "window");
  if (const auto steps = document::number_in(window, "steps")) {
    cards += html::card(html::value_text(*steps, html::Unit::kNumber),
                        fmt::format("steps, after {} to warm up", document::words_in(window, "warm_up")));
  }
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string story(const json& document) {
  const std::string text = document::words_in(document, "story");
  return text.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", html::escaped(text));
}

}  // namespace

std::string profile_section(const section::ReportRuns& runs) {
  const std::string together = runs.size() > 1 ? shares_chart(runs) : "";
  return together + section::beside(runs, [](const section::ReportRun& run) {
           const json& document = run.document;
           return story(document) + profile_cards(document) +
                  section::chart_row(shares_chart({run}) + parts_chart(document) + stages_chart(document) +
                                     workers_chart(document)) +
                  section::titled("Operators", operators_table(document)) +
                  section::titled("Waits", places_table("Waits", document::list_in(document, "waits"), true)) +
                  section::titled("Fallbacks to the CPU",
                                  places_table("Fallbacks", document::list_in(document, "fallbacks"), false)) +
                  section::titled("Loader workers", workers_table(document)) +
                  section::titled("Notes", section::bullets(document::list_in(document, "notes")));
         });
}

}  // namespace anymps::lab::runbook::profile
