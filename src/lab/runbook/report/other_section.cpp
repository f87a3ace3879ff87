#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lab/html/escape.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/log/fields.h"
#include "lab/runbook/report/sections.h"

namespace anymps::lab::runbook::report {
namespace {

using nlohmann::json;

std::string fact_text(const std::string& name, const json& value) {
  if (value.is_number() && (name.ends_with("bytes") || name == "limit" || name == "recommended"))
    return html::value_text(value.get<double>(), html::Unit::kBytes);
  return document::in_words(value);
}

// Nested facts get names with a comma, so that each has a row.
void flatten_with_commas(const std::string& prefix, const json& facts, json& flat) {
  for (const auto& [name, value] : facts.items()) {
    const std::string full = prefix.empty() ? name : prefix + ", " + name;
    if (value.is_object()) {
      flatten_with_commas(full, value, flat);
    } else {
      flat[full] = value;
    }
  }
}

std::string flat_name(const log::LogField& field) {
  std::string name;
  for (const char letter : std::string_view(field.pointer).substr(1)) {
    name += letter == '/' ? std::string(", ") : std::string(1, letter);
  }
  return name;
}

void add_row(section::Table& table, const std::string& title, std::vector<std::string> values) {
  const bool same = std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end();
  std::vector<section::Cell> cells = {section::text_cell(title)};
  const bool several = values.size() > 1;
  for (const std::string& value : values)
    cells.push_back(value.empty() ? section::text_cell("not noted") : section::code_cell(value));
  if (several) cells.push_back(same ? section::text_cell("") : section::badge_cell(section::Tone::kClose, "differs"));
  table.add(std::move(cells));
}

}  // namespace

std::string other_section(const section::ReportRuns& runs) {
  return section::beside(runs, [](const section::ReportRun& run) {
    return section::fields_table("Fields", section::own_fields(run.document)) +
           section::titled("Notes", section::bullets(document::list_in(run.document, "notes")));
  });
}

std::string facts_section(const section::ReportRuns& runs) {
  std::vector<json> flat;
  std::vector<std::string> columns = {"fact"};
  for (const section::ReportRun& run : runs) {
    flat.push_back(json::object());
    flatten_with_commas("", document::object_in(run.document, "facts"), flat.back());
    columns.push_back(run.label);
  }
  if (runs.size() > 1) columns.emplace_back("");
  section::Table table("Circumstances", columns);
  std::set<std::string> shown;
  for (const log::LogField& field : log::log_fields()) {
    shown.insert(flat_name(field));
    std::vector<std::string> values;
    for (const section::ReportRun& run : runs) {
      const json& facts = document::object_in(run.document, "facts");
      values.push_back(log::value_of(field, facts).is_null() ? "" : log::text_of(field, facts));
    }
    // These five are asked for by name; of the others what nobody noted is no news.
    const bool asked_for = std::string_view(field.group) == "five-tuple";
    if (!asked_for && std::ranges::all_of(values, &std::string::empty)) continue;
    add_row(table, field.label, std::move(values));
  }
  std::set<std::string> names;
  for (const json& facts : flat) {
    for (const auto& [name, value] : facts.items()) {
      if (!shown.contains(name) && !log::is_recorders_own(name)) names.insert(name);
    }
  }
  for (const std::string& name : names) {
    std::vector<std::string> values;
    for (const json& facts : flat) values.push_back(facts.contains(name) ? fact_text(name, facts[name]) : "");
    if (std::ranges::all_of(values, &std::string::empty)) continue;
    std::string title = name;
    std::ranges::replace(title, '_', ' ');
    add_row(table, title, std::move(values));
  }
  std::string samples;
  for (const section::ReportRun& run : runs) {
    samples += section::titled(
        run.label, section::fields_table("Samples of " + run.label, document::list_in(run.document, "samples")));
  }
  return table.html() + section::folded("Samples that were taken while they ran", samples);
}

}  // namespace anymps::lab::runbook::report
