// What a trace says, added up over a run's processes: the tables of screen.h, and the same as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/trace/reader.h"
#include "lab/trace/replayed_timeline.h"

namespace anymps::lab::trace {

struct TraceRow {
  std::string name;
  std::string site;  // empty in tables that are not by line
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
};

struct TracedProcess {
  const TraceFile* trace = nullptr;
  std::uint64_t lost = 0;  // events that the ring no longer holds: the oldest
  ReplayedTimeline timeline;
};

struct TraceSummary {
  std::vector<std::string> unreadable;  // why, a sentence each
  std::vector<TracedProcess> processes;
  // What took longest first, then what was most frequent; exact however many events were lost.
  std::vector<TraceRow> kernels;
  std::vector<TraceRow> calls;
  std::vector<TraceRow> waits;      // by line
  std::vector<TraceRow> fallbacks;  // by line
};

// The traces must live as long as what it returns.
TraceSummary summarise_trace(const std::vector<TraceFile>& traces);

nlohmann::json to_json(const TraceSummary& summary);

}  // namespace anymps::lab::trace
