// How far a long command is, and how long it will still take: a bar on a terminal, now and then a line elsewhere.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::screen {

class Progress {
 public:
  // Shown on standard error, or nowhere.
  Progress(std::string title, bool shown);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `share` of the whole, 0 to 1; it may fall when more turns out to be needed. Draws at most ten times a second.
  void at(double share, std::string_view detail);
  // Takes the bar away, so that a line can be printed in its place.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string title_;
  bool shown_;
  bool live_;  // on a terminal
  base::Terminal terminal_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point drawn_{};
  double share_at_begin_ = -1;  // what a resumed command had already
  bool visible_ = false;
};

// "2 min 5 s", "3 h 12 min": what a person wants to know of a time.
std::string rough_time(double seconds);

}  // namespace anymps::lab::runbook::screen
