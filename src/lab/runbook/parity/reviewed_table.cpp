#include "lab/runbook/parity/reviewed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

#include "gpu/support/whole_number.h"

namespace anymps::lab::runbook::parity {
namespace {

constexpr const char* kHeader = "device\twhat\tname\tkind\tdtype\tmax_ulps\tmax_relative";
constexpr const char* kNoUlps = "-";
constexpr std::size_t kColumns = 7;

// A name is one cell.
std::string cell(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string rounded(double value) { return fmt::format("{:.3g}", value); }

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t begin = 0;
  for (std::size_t tab = 0; tab != std::string::npos; begin = tab + 1) {
    tab = line.find('\t', begin);
    cells.push_back(line.substr(begin, tab == std::string::npos ? tab : tab - begin));
  }
  return cells;
}

}  // namespace

ParityTable ParityTable::of(const std::vector<Comparison>& comparisons) {
  ParityTable table;
  for (const Comparison& comparison : comparisons) {
    for (const auto& [rows, what] :
         {std::pair(&comparison.layers, "layer"), std::pair(&comparison.gradients, "gradient")}) {
      for (const TensorDifference& row : *rows) {
        if (row.random) continue;
        // As it will be read back: otherwise a run could be worse than itself.
        const double relative = std::strtod(rounded(row.relative()).c_str(), nullptr);
        table.rows_[{cell(comparison.device), what, cell(row.name)}] = {cell(row.kind), cell(row.dtype), row.max_ulps,
                                                                        relative};
      }
    }
  }
  return table;
}

ParityTable ParityTable::read(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("there is no table {}; --update writes it", path.string()));
  ParityTable table;
  std::string line;
  const auto refuse = [&path](std::size_t number) {
    throw std::runtime_error(
        fmt::format("{}, line {}: this is no table of anymps parity; --update writes it anew", path.string(), number));
  };
  if (!std::getline(file, line) || line != kHeader) refuse(1);
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != kColumns) refuse(number);
    Row row{cells[3], cells[4], std::nullopt, 0};
    if (cells[5] != kNoUlps) {
      row.max_ulps = gpu::support::whole_number(cells[5]);
      if (!row.max_ulps) refuse(number);
    }
    char* end = nullptr;
    row.max_relative = std::strtod(cells[6].c_str(), &end);
    if (end == cells[6].c_str() || *end != '\0') refuse(number);
    table.rows_[{cells[0], cells[1], cells[2]}] = std::move(row);
  }
  return table;
}

std::string ParityTable::text() const {
  std::string text = std::string(kHeader) + "\n";
  for (const auto& [key, row] : rows_) {
    const auto& [device, what, name] = key;
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", device, what, name, row.kind, row.dtype,
                        row.max_ulps ? std::to_string(*row.max_ulps) : kNoUlps, rounded(row.max_relative));
  }
  return text;
}

std::vector<std::string> ParityTable::changes_since(const ParityTable& reviewed, double slack) const {
  std::vector<std::string> changes;
  std::set<std::string> devices;
  for (const auto& [key, row] : rows_) {
    const auto& [device, what, name] = key;
    devices.insert(device);
    const std::string title = fmt::format("{} {} on {}", what, name, device);
    const auto before = reviewed.rows_.find(key);
    if (before == reviewed.rows_.end()) {
      changes.push_back(title + " is new");
      continue;
    }
    const Row& old = before->second;
    if (row.kind != old.kind || row.dtype != old.dtype) {
      changes.push_back(
          fmt::format("{} was {} of {} and is {} of {}", title, old.kind, old.dtype, row.kind, row.dtype));
    }
    const bool more_ulps =
        row.max_ulps && old.max_ulps && static_cast<double>(*row.max_ulps) > slack * static_cast<double>(*old.max_ulps);
    if (more_ulps || row.max_relative > slack * old.max_relative) {
      const auto ulps = [](const Row& of) { return of.max_ulps ? std::to_string(*of.max_ulps) : kNoUlps; };
      changes.push_back(fmt::format("{} got worse: {} ulps and {} relative were reviewed, {} and {} are here", title,
                                    ulps(old), rounded(old.max_relative), ulps(row), rounded(row.max_relative)));
    }
  }
  for (const auto& [key, row] : reviewed.rows_) {
    const auto& [device, what, name] = key;
    if (devices.contains(device) && !rows_.contains(key)) {
      changes.push_back(fmt::format("{} {} on {} is gone", what, name, device));
    }
  }
  return changes;
}

}  // namespace anymps::lab::runbook::parity
