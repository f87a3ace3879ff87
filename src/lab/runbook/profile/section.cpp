#include <fmt/format.h>

#include <array>
#include <string_view>

#include "lab/html_page.h"
#include "lab/markup.h"
#include "lab/runbook/document_fields.h"
#include "lab/runbook/report_sections.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

constexpr std::array kShares = {"input", "host", "device", "waiting", "fallback"};
constexpr std::array kStages = {"storage", "decode", "augment", "collate", "other"};

template <std::size_t kCount>
BarRow stacked_row(std::string label, const json& values, const std::array<const char*, kCount>& names) {
  BarRow row{std::move(label), {}};
  std::size_t style = 0;
  for (const char* name : names) {
    if (const auto value = number_in(values, name)) row.segments.push_back({name, *value, style});
    ++style;
  }
  return row;
}

std::string shares_chart(const ReportRuns& runs) {
  BarChart chart{"Where the time of a step goes", "", Unit::kShare, {}};
  for (const ReportRun& run : runs) {
    chart.rows.push_back(stacked_row(runs.size() > 1 ? run.label : "full step",
                                     object_in(object_in(run.document, "full"), "shares"), kShares));
  }
  return draw(chart);
}

std::string parts_chart(const json& document) {
  BarChart chart{"Data alone, forward alone, all of it", "seconds for one step", Unit::kSeconds, {}};
  const auto row = [&chart](const char* label, const std::optional<double>& seconds, std::size_t style) {
    if (seconds) chart.rows.push_back({label, {{"", *seconds, style}}});
  };
  row("data only", number_in(object_in(document, "data"), "batch_seconds"), 0);
  row("forward only, the same batch", number_in(object_in(document, "forward"), "seconds"), 2);
  row("full step", number_in(object_in(document, "full"), "step_seconds"), 5);
  return draw(chart);
}

std::string stages_chart(const json& document) {
  BarChart chart{"Where the input's time goes", "share of a batch's time", Unit::kShare, {}};
  BarRow row = stacked_row("one batch", object_in(object_in(document, "data"), "stages"), kStages);
  if (!row.segments.empty()) chart.rows.push_back(std::move(row));
  return draw(chart);
}

std::string workers_chart(const json& document) {
  LineChart chart;
  chart.title = "Time of a batch over loader workers";
  chart.x.title = "workers";
  chart.x.is_whole = true;
  chart.y = {"", Unit::kSeconds, AxisKind::kLinear, true, {}, {}};
  ChartSeries series{"", 0, {}};
  for (const json& row : list_in(document, "workers")) {
    const auto workers = number_in(row, "workers");
    const auto seconds = number_in(row, "batch_seconds");
    if (!workers || !seconds) continue;
    std::string text =
        fmt::format("{} workers, {}", value_text(*workers, Unit::kNumber), value_text(*seconds, Unit::kSeconds));
    series.points.push_back({*workers, *seconds, {}, {}, std::move(text)});
  }
  chart.series.push_back(std::move(series));
  return draw(chart);
}

std::string workers_table(const json& document) {
  Table table("Loader workers", {"#workers", "outcome", "#batch", "#descriptors", "#resident"});
  for (const json& row : list_in(document, "workers")) {
    const std::string outcome = text_in(row, "outcome");
    table.add({number_cell(number_in(row, "workers")), badge_cell(outcome == "ran" ? Tone::kGood : Tone::kBad, outcome),
               number_cell(number_in(row, "batch_seconds"), Unit::kSeconds), number_cell(number_in(row, "descriptors")),
               number_cell(number_in(row, "resident_bytes"), Unit::kBytes)});
  }
  return table.html();
}

std::string operators_table(const json& document) {
  Table table("Operators", {"operator", "#count", "#self", "#queued", "#waited", "#waited/self"});
  for (const json& row : list_in(document, "operators")) {
    const auto self = number_in(row, "self_seconds");
    const auto waited = number_in(row, "waited_seconds");
    table.add({code_cell(text_in(row, "name")), number_cell(number_in(row, "count")), number_cell(self, Unit::kSeconds),
               number_cell(number_in(row, "queued_seconds"), Unit::kSeconds), number_cell(waited, Unit::kSeconds),
               number_cell(self && waited && *self > 0 ? std::optional(*waited / *self) : std::nullopt)});
  }
  table.sort_by(2);
  return table.html();
}

std::string places_table(const char* label, const json& rows, bool timed) {
  std::vector<std::string> columns = {"operator", "place", "#count"};
  if (timed) columns.emplace_back("#seconds");
  Table table(label, columns);
  for (const json& row : rows) {
    std::vector<Cell> cells = {code_cell(text_in(row, "name")), code_cell(text_in(row, "site")),
                               number_cell(number_in(row, "count"))};
    if (timed) cells.push_back(number_cell(number_in(row, "seconds"), Unit::kSeconds));
    table.add(std::move(cells));
  }
  table.sort_by(timed ? 3 : 2);
  return table.html();
}

std::string profile_cards(const json& document) {
  const json& full = object_in(document, "full");
  std::string cards;
  const auto add = [&cards](const json& object, const char* field, const char* label) {
    if (const auto seconds = number_in(object, field)) cards += card(value_text(*seconds, Unit::kSeconds), label);
  };
  add(full, "step_seconds", "a full step");
  add(full, "first_epoch_step_seconds", "a step of the first epoch");
  add(full, "steady_step_seconds", "a step of the steady epochs");
  const json& window = object_in(document, "window");
  if (const auto steps = number_in(window, "steps")) {
    cards +=
        card(value_text(*steps, Unit::kNumber), fmt::format("steps, after {} to warm up", text_in(window, "warm_up")));
  }
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string story(const json& document) {
  const std::string text = text_in(document, "story");
  return text.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", escaped(text));
}

}  // namespace

std::string profile_section(const ReportRuns& runs) {
  const std::string together = runs.size() > 1 ? shares_chart(runs) : "";
  return together + beside(runs, [](const ReportRun& run) {
           const json& document = run.document;
           return story(document) + profile_cards(document) +
                  chart_row(shares_chart({run}) + parts_chart(document) + stages_chart(document) +
                            workers_chart(document)) +
                  titled("Operators", operators_table(document)) +
                  titled("Waits", places_table("Waits", list_in(document, "waits"), true)) +
                  titled("Fallbacks to the CPU", places_table("Fallbacks", list_in(document, "fallbacks"), false)) +
                  titled("Loader workers", workers_table(document)) +
                  titled("Notes", bullets(list_in(document, "notes")));
         });
}

}  // namespace anymps::lab
