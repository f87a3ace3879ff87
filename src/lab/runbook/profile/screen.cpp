#include "lab/runbook/profile/screen.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/base/text_wrap.h"
#include "lab/runbook/screen/parts.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::profile {
namespace {

using nlohmann::json;

constexpr std::size_t kMostProfileRows = 8;
constexpr std::size_t kQueued = 3;  // the column that a narrow terminal does without

std::string shares_line(const json& shares) {
  std::string line = " ";
  for (const char* name : {"input", "host", "device", "waiting", "fallback"}) {
    line += fmt::format(" {} {}", name, screen::percent_at(shares, name));
  }
  return line + "\n";
}

// How the time of loading divides, and the functions of it that are no stage.
std::string loading_lines(const json& stages, const json& others, const base::Terminal& terminal) {
  std::string line = "loading:";
  for (const auto& [stage, share] : stages.items())
    line += fmt::format(" {} {}", stage, screen::percent_at(stages, stage.c_str()));
  std::string text = base::fitted_line("  ", line, terminal);
  for (const json& row : others) {
    text += base::fitted_line("    ",
                              fmt::format("{} {} at {}", screen::percent_at(row, "share"), row.value("function", ""),
                                          trace::SourceSite::parse(row.value("site", "")).text()),
                              terminal);
  }
  return text;
}

}  // namespace

std::string profile_screen(const json& document, const base::Terminal& terminal) {
  std::string text = screen::verdict_line(document, "profile", terminal);
  text += base::wrapped(document.value("story", ""), terminal.width, "", terminal);
  text += screen::failure_text(document.value("failure", json()), terminal);
  const json full = document.value("full", json::object());
  if (full.contains("step_seconds")) {
    text += "\n" + shares_line(full.value("shares", json::object()));
    const json data = document.value("data", json::object());
    text += screen::columns(
        {{"whole step", screen::seconds_at(full, "step_seconds")},
         {"of the first epoch", screen::seconds_at(full, "first_epoch_step_seconds")},
         {"of steady epochs", screen::seconds_at(full, "steady_step_seconds")},
         {"loading alone", screen::seconds_at(data, "batch_seconds")},
         {"forward alone, one batch", screen::seconds_at(document.value("forward", json::object()), "seconds")}});
    if (const json stages = data.value("stages", json::object()); !stages.empty()) {
      text += "\n" + loading_lines(stages, data.value("others", json::array()), terminal);
    }
  }
  std::vector<std::vector<std::string>> rows = {{"operator", "calls", "itself", "queued", "waited for"}};
  for (const json& row : document.value("operators", json::array())) {
    if (rows.size() > kMostProfileRows) break;
    rows.push_back({row.value("name", ""), screen::number_at(row, "count", 0), screen::seconds_at(row, "self_seconds"),
                    screen::seconds_at(row, "queued_seconds"), screen::seconds_at(row, "waited_seconds")});
  }
  if (rows.size() > 1) text += "\n" + screen::columns(rows, terminal, {kQueued});
  rows = {{"wait", "calls", "time", "line"}};
  for (const json& row : document.value("waits", json::array())) {
    if (rows.size() > kMostProfileRows) break;
    rows.push_back({row.value("name", ""), screen::number_at(row, "count", 0), screen::seconds_at(row, "seconds"),
                    trace::SourceSite::parse(row.value("site", "")).text()});
  }
  if (rows.size() > 1) text += "\n" + screen::columns(rows, terminal);
  rows = {{"workers", "outcome", "batch", "descriptors", "memory"}};
  for (const json& row : document.value("workers", json::array())) {
    rows.push_back({screen::number_at(row, "workers", 0), row.value("outcome", ""),
                    screen::seconds_at(row, "batch_seconds"), screen::number_at(row, "descriptors", 0),
                    screen::bytes_at(row, "resident_bytes")});
  }
  if (rows.size() > 1) text += "\n" + screen::columns(rows, terminal);
  return text + screen::notes_of(document, terminal);
}

}  // namespace anymps::lab::runbook::profile
