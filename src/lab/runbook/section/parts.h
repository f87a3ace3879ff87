// What the sections of the report are made of: tables that sort, badges, cards, and runs beside one another.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/html/chart.h"
#include "lab/runbook/document/described.h"
#include "lab/runbook/document/head.h"

namespace anymps::lab::runbook::section {

// A finished run that goes onto the page.
struct ReportRun {
  nlohmann::json document;
  std::string label;      // "run 12, m1-16gb": what tells it from the others
  std::size_t style = 0;  // of its curves
  bool simulated = false;
};

using ReportRuns = std::vector<ReportRun>;

// The same of a verb whose documents are known.
template <typename Document>
struct DocumentRun {
  Document document;
  std::string label;
  std::size_t style = 0;
  bool simulated = false;
};

template <typename Document>
using DocumentRuns = std::vector<DocumentRun<Document>>;

template <typename Document>
DocumentRuns<Document> documents_of(const ReportRuns& runs) {
  DocumentRuns<Document> documents;
  for (const ReportRun& run : runs) {
    documents.push_back({document::described_from<Document>(run.document), run.label, run.style, run.simulated});
  }
  return documents;
}

enum class Tone { kGood, kClose, kBad, kPlain };

// A word with a sign and a colour, of which the word alone would do.
std::string badge(Tone tone, std::string_view word);
// Empty where there is none.
std::string verdict_badge(std::optional<document::Verdict> verdict);

// One cell: what is shown, and what it sorts by.
struct Cell {
  std::string html;
  std::optional<double> number = {};  // none: its text
};

Cell text_cell(std::string_view text);
Cell code_cell(std::string_view text);
Cell badge_cell(Tone tone, std::string_view word);
// A dash where there is no value.
Cell number_cell(std::optional<double> value, html::Unit unit = html::Unit::kNumber);

class Table {
 public:
  // Columns whose name begins with '#' hold numbers, which stand to the right.
  Table(std::string label, std::vector<std::string> columns);

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // The rows as they will be shown: by the numbers of that column, largest first.
  void sort_by(std::size_t column);
  // Empty where it has no rows.
  std::string html() const;

 private:
  std::string label_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::optional<std::size_t> sorted_;
};

// A heading of the third order with what it heads; empty where that is empty.
std::string titled(std::string_view title, const std::string& html);
std::string paragraph(std::string_view text);
// Texts of a list such as "notes".
std::string bullets(const nlohmann::json& texts);
std::string bullets(const std::vector<std::string>& texts);
// Behind a line that opens it.
std::string folded(std::string_view title, const std::string& html);

// One of several runs: its label, verdict and command, and `html` below them.
std::string article(const document::Head& head, std::string_view label, bool simulated, const std::string& html);
// Articles side by side where there is room.
std::string beside(const std::vector<std::string>& articles);

template <typename Document, typename Draw>
std::string beside(const DocumentRuns<Document>& runs, const Draw& draw_one) {
  std::vector<std::string> articles;
  for (const DocumentRun<Document>& run : runs) {
    articles.push_back(article(run.document.head, run.label, run.simulated, draw_one(run)));
  }
  return beside(articles);
}
// The runs of a verb that is not known.
std::string beside(const ReportRuns& runs, const std::function<std::string(const ReportRun&)>& draw_one);
// Charts beside one another where there is room.
std::string chart_row(const std::string& charts);

// A document without what every document has, and what the page shows elsewhere.
nlohmann::json own_fields(nlohmann::json document);

// Any JSON as tables: an object's plain fields in one, its lists of objects in one each.
std::string fields_table(std::string_view label, const nlohmann::json& object);

// As a shell takes it.
std::string command_line(const nlohmann::json& words);

}  // namespace anymps::lab::runbook::section
