// A line of the user's code, as a trace names it: "/home/me/train.py:12", or "study.ipynb[cell 3]:2".
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::lab::trace {

struct SourceSite {
  std::string file;  // as it was recorded; empty where no line of Python is known
  unsigned line = 0;

  static SourceSite parse(std::string_view written);

  bool known() const { return line > 0; }
  bool in_notebook() const;
  // The file as the user would type it: without the way to the current folder where it lies below that.
  std::string short_file() const;
  // "train.py:12".
  std::string text() const;

  auto operator<=>(const SourceSite&) const = default;
};

struct SourceLine {
  unsigned number = 0;
  std::string text;
};

// The lines of files that reports quote; each file is read once. What cannot be read has no lines.
class SourceLines {
 public:
  // The line itself and up to `around` before and after it.
  std::vector<SourceLine> at(const SourceSite& site, unsigned around = 0);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace anymps::lab::trace
