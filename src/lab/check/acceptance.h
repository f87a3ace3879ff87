// Findings that the user has accepted: by a comment at their line, or by a baseline.
//
//   values = torch.linalg.eigvals(a)  # anymps: ignore[refused-operator]
//
// A comment without brackets accepts every rule there. A baseline is a text file with a finding a line: rule, file and
// subject, with tabs between. It names no lines, so that it holds while code above them changes. Lines that begin with
// # are comments.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/check/findings.h"

namespace anymps::lab::check {

struct Baseline {
  struct Entry {
    std::string rule;
    std::string file;  // as SourceSite::short_file() has it
    std::string subject;

    auto operator<=>(const Entry&) const = default;
  };
  std::set<Entry> entries;

  static Baseline of(const std::vector<Finding>& findings);
  // Throws std::runtime_error, which names the line, where the file is not a baseline.
  static Baseline read(const std::filesystem::path& file);
  std::string text() const;
  bool accepts(const Finding& finding) const;
};

// Whether the comment in this line of source accepts findings of the rule.
bool comment_accepts(std::string_view line, std::string_view rule);

// Takes out what is accepted; returns how many findings these were.
std::size_t take_accepted(std::vector<Finding>& findings, const Baseline& baseline);

}  // namespace anymps::lab::check
