// The table of differences that somebody reviewed: a file of tab-separated lines that is committed beside the script,
// and that the next run is held against.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lab/runbook/parity/document.h"

namespace anymps::lab::runbook::parity {

class ParityTable {
 public:
  // Of the comparisons of a document. What dropout decides is left out, because it is different each time.
  static ParityTable of(const std::vector<Comparison>& comparisons);
  // Throws std::runtime_error that names the file, and the line where it is no table.
  static ParityTable read(const std::filesystem::path& path);

  // Sorted, the figures rounded: the same run writes the same bytes.
  std::string text() const;

  // Sentences: what is worse here than `reviewed` has it by more than `slack` times, what is new, and what is gone.
  // Devices that were not compared are not gone.
  std::vector<std::string> changes_since(const ParityTable& reviewed, double slack) const;

 private:
  struct Row {
    std::string kind;
    std::string dtype;
    std::optional<std::uint64_t> max_ulps;
    double max_relative = 0;
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // device, what, name

  std::map<Key, Row> rows_;
};

}  // namespace anymps::lab::runbook::parity
