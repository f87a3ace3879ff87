#include "lab/runbook/section/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lab/base/shell_words.h"
#include "lab/html/escape.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::section {
namespace {

using nlohmann::json;

// Deeper than any document of ours; a file may hold anything.
constexpr int kDeepest = 6;

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "fits";
    case Tone::kClose:
      return "close";
    case Tone::kBad:
      return "bad";
    default:
      return "plain";
  }
}

const char* tone_sign(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "✓ ";
    case Tone::kClose:
      return "! ";
    case Tone::kBad:
      return "✕ ";
    default:
      return "";
  }
}

bool is_list_of_objects(const json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const json& one) { return one.is_object(); });
}

// A name tells the unit, as all documents have it.
html::Unit unit_of(std::string_view name) {
  if (name.ends_with("bytes")) return html::Unit::kBytes;
  if (name.ends_with("seconds")) return html::Unit::kSeconds;
  return name.ends_with("share") ? html::Unit::kShare : html::Unit::kNumber;
}

std::string words_of(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

Cell field_cell(const std::string& name, const json& value) {
  if (value.is_number()) return number_cell(value.get<double>(), unit_of(name));
  if (value.is_structured()) return code_cell(document::in_words(value));
  return text_cell(document::in_words(value));
}

std::string list_table(std::string_view label, const json& rows) {
  std::vector<std::string> names;
  for (const json& row : rows) {
    for (const auto& [name, value] : row.items()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::string> columns;
  for (const std::string& name : names) {
    const bool numbers = std::ranges::all_of(
        rows, [&name](const json& row) { return !row.contains(name) || row[name].is_number() || row[name].is_null(); });
    columns.push_back((numbers ? "#" : "") + words_of(name));
  }
  Table table(std::string(label), columns);
  for (const json& row : rows) {
    std::vector<Cell> cells;
    for (const std::string& name : names) cells.push_back(row.contains(name) ? field_cell(name, row[name]) : Cell{});
    table.add(std::move(cells));
  }
  return table.html();
}

void collect(const std::string& prefix, const json& object, int depth, Table& plain, std::string& lists) {
  for (const auto& [name, value] : object.items()) {
    const std::string full = prefix.empty() ? words_of(name) : prefix + ", " + words_of(name);
    if (value.is_object() && depth < kDeepest) {
      collect(full, value, depth + 1, plain, lists);
    } else if (is_list_of_objects(value)) {
      lists += titled(full, list_table(full, value));
    } else {
      plain.add({text_cell(full), field_cell(name, value)});
    }
  }
}

}  // namespace

std::string badge(Tone tone, std::string_view word) {
  return fmt::format("<span class=\"badge {}\">{}{}</span>", tone_class(tone), tone_sign(tone), html::escaped(word));
}

std::string verdict_badge(std::optional<document::Verdict> verdict) {
  if (!verdict) return {};
  const Tone tone = *verdict == document::Verdict::kGood  ? Tone::kGood
                    : *verdict == document::Verdict::kBad ? Tone::kBad
                                                          : Tone::kClose;
  return badge(tone, word_of(*verdict));
}

Cell text_cell(std::string_view text) { return {html::escaped(text)}; }

Cell code_cell(std::string_view text) {
  return {text.empty() ? "" : fmt::format("<code>{}</code>", html::escaped(text))};
}

Cell badge_cell(Tone tone, std::string_view word) { return {badge(tone, word)}; }

Cell number_cell(std::optional<double> value, html::Unit unit) {
  if (!value) return {"–"};
  return {html::escaped(html::value_text(*value, unit)), value};
}

Table::Table(std::string label, std::vector<std::string> columns)
    : label_(std::move(label)), columns_(std::move(columns)) {}

void Table::sort_by(std::size_t column) {
  sorted_ = column;
  std::ranges::stable_sort(rows_, std::greater<>(), [column](const std::vector<Cell>& row) {
    return row[column].number.value_or(-std::numeric_limits<double>::infinity());
  });
}

std::string Table::html() const {
  if (rows_.empty()) return {};
  std::string html = fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\"><table class=\"sorts\"><thead><tr>",
      html::escaped(label_));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool number = columns_[i].starts_with('#');
    html +=
        fmt::format("<th scope=\"col\"{}{}>{}</th>", number ? " class=\"n\"" : "",
                    sorted_ == i ? " aria-sort=\"descending\"" : "", html::escaped(columns_[i].substr(number ? 1 : 0)));
  }
  html += "</tr></thead><tbody>\n";
  for (const std::vector<Cell>& row : rows_) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = i < columns_.size() && columns_[i].starts_with('#');
      html += number ? "<td class=\"n\"" : "<td";
      if (row[i].number) html += fmt::format(" data-value=\"{}\"", *row[i].number);
      html += ">" + row[i].html + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string titled(std::string_view title, const std::string& html) {
  return html.empty() ? "" : fmt::format("<h3>{}</h3>\n{}", html::escaped(title), html);
}

std::string paragraph(std::string_view text) {
  return text.empty() ? "" : fmt::format("<p>{}</p>\n", html::escaped(text));
}

std::string bullets(const json& texts) {
  std::string list;
  for (const json& text : texts) list += fmt::format("<li>{}</li>\n", html::escaped(document::in_words(text)));
  return list.empty() ? "" : "<ul>\n" + list + "</ul>\n";
}

std::string bullets(const std::vector<std::string>& texts) { return bullets(json(texts)); }

std::string folded(std::string_view title, const std::string& html) {
  if (html.empty()) return {};
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html::escaped(title), html);
}

std::string article(const document::Head& head, std::string_view label, bool simulated, const std::string& html) {
  return fmt::format(
      "<article>\n<header><h3>{}</h3>{}{}{}</header>\n{}</article>\n", html::escaped(label),
      verdict_badge(head.verdict), simulated ? badge(Tone::kClose, "simulated device") : "",
      head.command.empty() ? "" : fmt::format("<code>{}</code>", html::escaped(base::shell_quoted(head.command))),
      html);
}

std::string beside(const std::vector<std::string>& articles) {
  std::string html = fmt::format("<div class=\"beside of{}\">\n", std::min<std::size_t>(articles.size(), 3));
  for (const std::string& one : articles) html += one;
  return html + "</div>\n";
}

std::string beside(const ReportRuns& runs, const std::function<std::string(const ReportRun&)>& draw_one) {
  std::vector<std::string> articles;
  for (const ReportRun& run : runs) {
    articles.push_back(
        article(document::described_from<document::Head>(run.document), run.label, run.simulated, draw_one(run)));
  }
  return beside(articles);
}

std::string chart_row(const std::string& charts) {
  return charts.empty() ? "" : "<div class=\"charts\">\n" + charts + "</div>\n";
}

json own_fields(json document) {
  for (const char* name : {"version", "verb", "run", "verdict", "status", "command", "facts", "samples", "notes"}) {
    document.erase(name);
  }
  return document;
}

std::string fields_table(std::string_view label, const json& object) {
  if (is_list_of_objects(object)) return list_table(label, object);
  Table plain(std::string(label), {"field", "value"});
  std::string lists;
  if (object.is_object()) {
    collect("", object, 0, plain, lists);
  } else if (!object.empty()) {  // of which null has none, and a plain value one
    plain.add({text_cell("value"), field_cell("value", object)});
  }
  return plain.html() + lists;
}

std::string command_line(const json& words) {
  std::vector<std::string> texts;
  for (const json& word : words) texts.push_back(document::in_words(word));
  return base::shell_quoted(texts);
}

}  // namespace anymps::lab::runbook::section
