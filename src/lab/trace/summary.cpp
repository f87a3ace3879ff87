#include "lab/trace/summary.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/base/nanosecond.h"

namespace anymps::lab::trace {
namespace {

using gpu::trace::TraceKind;

// From the tallies, which are exact however much of the ring was overwritten.
std::vector<TraceRow> rows_of(const std::vector<TraceFile>& traces, std::initializer_list<TraceKind> kinds,
                              bool by_site) {
  std::map<std::pair<std::string, std::string>, TraceRow> rows;
  for (const TraceFile& trace : traces) {
    for (const TraceTally& tally : trace.tallies) {
      if (std::ranges::find(kinds, tally.kind) == kinds.end()) continue;
      const std::string site = by_site ? tally.site : "";
      TraceRow& row = rows[{tally.name, site}];
      row.name = tally.name;
      row.site = site;
      row.count += tally.count;
      if (tally.kind == TraceKind::kFallback) continue;  // what it adds up are bytes
      row.total_ns += tally.total;
      row.longest_ns = std::max(row.longest_ns, tally.max);
    }
  }
  std::vector<TraceRow> sorted;
  for (auto& [_, row] : rows) sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const TraceRow& left, const TraceRow& right) {
    return std::pair(left.total_ns, left.count) > std::pair(right.total_ns, right.count);
  });
  return sorted;
}

nlohmann::json rows_to_json(const std::vector<TraceRow>& rows) {
  auto list = nlohmann::json::array();
  for (const TraceRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"site", row.site},
                    {"count", row.count},
                    {"total_seconds", static_cast<double>(row.total_ns) * base::kNanosecond},
                    {"longest_seconds", static_cast<double>(row.longest_ns) * base::kNanosecond}});
  }
  return list;
}

}  // namespace

TraceSummary summarise_trace(const std::vector<TraceFile>& traces) {
  TraceSummary summary;
  for (const TraceFile& trace : traces) {
    if (!trace.error.empty()) {
      summary.unreadable.push_back(trace.error);
      continue;
    }
    summary.processes.push_back(
        {&trace, trace.records_written - std::min<std::uint64_t>(trace.records_written, trace.records.size()),
         replay(trace)});
  }
  summary.kernels = rows_of(traces, {TraceKind::kOperator, TraceKind::kShader}, false);
  summary.calls = rows_of(traces, {TraceKind::kCall}, false);
  summary.waits = rows_of(traces, {TraceKind::kSync}, true);
  summary.fallbacks = rows_of(traces, {TraceKind::kFallback}, true);
  // Their time was the CPU's, on the device's memory.
  std::erase_if(summary.kernels, [&summary](const TraceRow& kernel) {
    return std::ranges::find(summary.fallbacks, kernel.name, &TraceRow::name) != summary.fallbacks.end();
  });
  return summary;
}

nlohmann::json to_json(const TraceSummary& summary) {
  auto processes = nlohmann::json::array();
  for (const TracedProcess& process : summary.processes) {
    processes.push_back({{"pid", process.trace->pid},
                         {"command", process.trace->command},
                         {"events", process.trace->records_written},
                         {"lost_events", process.lost},
                         {process.timeline.name(), to_json(process.timeline)}});
  }
  return {{"version", 1},
          {"unreadable", summary.unreadable},
          {"processes", std::move(processes)},
          {"kernels", rows_to_json(summary.kernels)},
          {"calls", rows_to_json(summary.calls)},
          {"waits", rows_to_json(summary.waits)},
          {"fallbacks", rows_to_json(summary.fallbacks)}};
}

}  // namespace anymps::lab::trace
