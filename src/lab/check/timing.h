// Clocks that are read before the device is done: intervals of the source, held against where the device worked and
// where it was waited for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/check/findings.h"
#include "lab/trace/reader.h"

namespace anymps::lab::check {

inline constexpr std::string_view kTimingRule = "timing-without-synchronize";

struct LineRange {
  unsigned first = 0;
  unsigned last = 0;

  bool holds(unsigned line) const { return first <= line && line <= last; }
};

// From the reading of a clock to the difference with a later one.
struct ClockInterval {
  LineRange lines;
  std::vector<LineRange> loops;  // that lie inside
};

// Lines of one file below which the device did work, and was waited for.
struct DeviceLines {
  std::vector<unsigned> work;
  std::vector<unsigned> waits;
};

// Whether the clock may be read while work of the interval is still queued. A wait counts from the last work on; in a
// loop also before it, because the next round comes to it.
bool is_unsynchronised(const ClockInterval& interval, const DeviceLines& lines);

struct TimingFindings {
  std::vector<Finding> findings;
  std::string why_not;  // why nothing was looked for; the source is read by Python, which may be missing
};

TimingFindings timing_findings(const std::vector<trace::TraceFile>& traces);

}  // namespace anymps::lab::check
