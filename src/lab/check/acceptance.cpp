#include "lab/check/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "lab/check/rules.h"

namespace anymps::lab::check {
namespace {

constexpr std::string_view kMark = "anymps: ignore";
constexpr const char* kBaselineHead = "# anymps check --baseline: rule, file, subject\n";
// Of one line: a file that is no baseline is not read into memory.
constexpr std::size_t kLongestLine = 4096;

Baseline::Entry entry_of(const Finding& finding) {
  return {std::string(finding.rule->id), finding.site.short_file(), finding.subject};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace

Baseline Baseline::of(const std::vector<Finding>& findings) {
  Baseline baseline;
  for (const Finding& finding : findings) baseline.entries.insert(entry_of(finding));
  return baseline;
}

Baseline Baseline::read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(fmt::format("cannot read {}", file.string()));
  Baseline baseline;
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t first = line.find('\t');
    const std::size_t second = first == std::string::npos ? first : line.find('\t', first + 1);
    if (second == std::string::npos || line.size() > kLongestLine) {
      throw std::runtime_error(
          fmt::format("{}:{}: expected rule, file and subject with tabs between", file.string(), number));
    }
    Entry entry{line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
    if (check_rule(entry.rule) == nullptr) {
      throw std::runtime_error(fmt::format("{}:{}: there is no rule {} (anymps check --rules lists them)",
                                           file.string(), number, entry.rule));
    }
    baseline.entries.insert(std::move(entry));
  }
  return baseline;
}

std::string Baseline::text() const {
  std::string text = kBaselineHead;
  for (const Entry& entry : entries) text += fmt::format("{}\t{}\t{}\n", entry.rule, entry.file, entry.subject);
  return text;
}

bool Baseline::accepts(const Finding& finding) const { return entries.contains(entry_of(finding)); }

bool comment_accepts(std::string_view line, std::string_view rule) {
  const std::size_t comment = line.find('#');
  if (comment == std::string_view::npos) return false;
  const std::size_t mark = line.find(kMark, comment);
  if (mark == std::string_view::npos) return false;
  std::string_view rest = line.substr(mark + kMark.size());
  if (!rest.starts_with("[")) return true;
  rest = rest.substr(1, rest.find(']') - 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    if (trimmed(rest.substr(0, comma)) == rule) return true;
    if (comma == std::string_view::npos) return false;
    rest = rest.substr(comma + 1);
  }
}

std::size_t take_accepted(std::vector<Finding>& findings, const Baseline& baseline) {
  trace::SourceLines sources;
  return std::erase_if(findings, [&](const Finding& finding) {
    if (baseline.accepts(finding)) return true;
    const std::vector<trace::SourceLine> lines = sources.at(finding.site);
    return std::ranges::any_of(
        lines, [&](const trace::SourceLine& line) { return comment_accepts(line.text, finding.rule->id); });
  });
}

}  // namespace anymps::lab::check
