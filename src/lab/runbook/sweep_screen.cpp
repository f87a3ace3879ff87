#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/runbook/lab_screen.h"
#include "lab/runbook/screen_parts.h"
#include "lab/text_wrap.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

std::string mark_of(const json& series, std::uint64_t batch) {
  std::string mark;
  const auto is_batch = [&](const char* what, const char* key) {
    const json& part = series.value(what, json());
    return part.is_object() && part.value(key, json()) == json(batch);
  };
  if (is_batch("knee", "batch")) mark += " knee";
  if (is_batch("edge", "largest_good")) mark += " edge";
  if (is_batch("recommended", "batch")) mark += " recommended";
  return mark;
}

std::string sentence(const json& series, const char* what, const char* key, const Terminal& terminal) {
  const json part = series.value(what, json());
  if (!part.is_object()) return fmt::format("  {:<12} none\n", what);
  const std::string label = part.value("extrapolated", false) ? " (extrapolated)" : "";
  return wrapped(fmt::format("  {:<12} {}{}: {}", what, part.value(key, json()).dump(), label, part.value("why", "")),
                 terminal.width, "               ");
}

}  // namespace

std::string sweep_screen(const json& document, const Terminal& terminal) {
  std::string text = verdict_line(document, fmt::format("sweep of {}", document.value("argument", "")), terminal);
  for (const json& series : document.value("series", json::array())) {
    const json axes = series.value("axes", json::object());
    for (const auto& [name, value] : axes.items()) {
      text += fmt::format("\n{} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
    }
    std::vector<std::vector<std::string>> rows = {
        {"batch", "samples/s", "quartiles", "step", "first step", "peak", "of limit", ""}};
    for (const json& point : series.value("points", json::array())) {
      const auto batch = point.value("batch", std::uint64_t{0});
      if (point.value("outcome", "") != "ran") {
        rows.push_back({std::to_string(batch), point.value("outcome", ""), "", "", "", "", "", ""});
        continue;
      }
      rows.push_back({std::to_string(batch), number_at(point, "samples_per_second"),
                      number_at(point, "samples_low") + " - " + number_at(point, "samples_high"),
                      seconds_at(point, "step_seconds"), seconds_at(point, "first_step_seconds"),
                      bytes_at(point, "peak_bytes"), percent_at(point, "watermark_share"), mark_of(series, batch)});
    }
    text += columns(rows);
    text += sentence(series, "knee", "batch", terminal);
    text += sentence(series, "edge", "largest_good", terminal);
    text += sentence(series, "recommended", "batch", terminal);
    text += notes_of(series, terminal);
  }
  return text + notes_of(document, terminal);
}

}  // namespace anymps::lab
