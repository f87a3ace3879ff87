#include "lab/trace/run_summary.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "lab/base/nanosecond.h"
#include "lab/base/quantile.h"

namespace anymps::lab::trace {
namespace {

using gpu::trace::TraceKind;

constexpr std::string_view kSaidByTheScript = "step";

void measure_intervals(const TraceFile& trace, StepSeries& series) {
  std::vector<double> intervals;
  std::set<std::uint32_t> threads;
  for (const TraceRecord& record : trace.records) {
    if (record.kind != TraceKind::kStep || record.name != series.name || record.site != series.site) continue;
    threads.insert(record.thread);
    if (record.a > 0) intervals.push_back(static_cast<double>(record.b) * base::kNanosecond);
  }
  series.threads = threads.size();
  series.intervals = intervals.size();
  if (intervals.empty()) return;
  std::ranges::sort(intervals);
  series.median_seconds = base::quantile(intervals, 0.5);
  series.lower_quartile_seconds = base::quantile(intervals, 0.25);
  series.upper_quartile_seconds = base::quantile(intervals, 0.75);
}

// One series a line of the script. Where several processes took steps at one line (data parallel training), the busiest
// stands for all: adding them up would count each step of the training many times.
std::vector<StepSeries> step_series(const std::vector<TraceFile>& traces) {
  std::map<std::pair<std::string, std::string>, std::pair<const TraceFile*, const TraceTally*>> busiest;
  for (const TraceFile& trace : traces) {
    for (const TraceTally& tally : trace.tallies) {
      if (tally.kind != TraceKind::kStep) continue;
      auto& best = busiest[{tally.name, tally.site}];
      if (best.second == nullptr || best.second->count < tally.count) best = {&trace, &tally};
    }
  }
  std::vector<StepSeries> all;
  for (const auto& [key, best] : busiest) {
    StepSeries series;
    std::tie(series.name, series.site) = key;
    series.count = best.second->count;
    series.first_seconds = static_cast<double>(best.second->first) * base::kNanosecond;
    measure_intervals(*best.first, series);
    all.push_back(std::move(series));
  }
  // What the script itself calls a step goes before what an optimiser does.
  std::ranges::stable_sort(all, [](const StepSeries& x, const StepSeries& y) {
    return std::pair(x.name == kSaidByTheScript, x.count) > std::pair(y.name == kSaidByTheScript, y.count);
  });
  return all;
}

std::vector<Counted> counted_events(const std::vector<TraceFile>& traces, TraceKind kind) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (const TraceFile& trace : traces) {
    for (const TraceTally& tally : trace.tallies) {
      if (tally.kind == kind) counts[{tally.name, tally.site}] += tally.count;
    }
  }
  std::vector<Counted> events;
  for (const auto& [key, number] : counts) events.push_back({key.first, key.second, number});
  std::ranges::stable_sort(events, std::greater(), &Counted::count);
  return events;
}

std::uint64_t number_from(const std::map<std::string, std::string>& facts, const std::string& key) {
  const auto fact = facts.find(key);
  std::uint64_t value = 0;
  if (fact != facts.end()) std::from_chars(fact->second.data(), fact->second.data() + fact->second.size(), value);
  return value;
}

std::vector<std::string> caveats_of(const std::vector<TraceFile>& traces) {
  std::vector<std::string> caveats;
  std::uint64_t dropped = 0;
  for (const TraceFile& trace : traces) {
    if (!trace.error.empty()) caveats.push_back(trace.error);
    if (trace.truncated) caveats.push_back(fmt::format("the trace of process {} is cut short", trace.pid));
    dropped += trace.dropped_tallies + trace.dropped_strings;
  }
  if (dropped > 0)
    caveats.push_back(fmt::format("{} events came from more places than a trace can tell apart", dropped));
  return caveats;
}

nlohmann::json counted_json(const std::vector<Counted>& events) {
  auto list = nlohmann::json::array();
  for (const Counted& event : events)
    list.push_back({{"name", event.name}, {"site", event.site}, {"count", event.count}});
  return list;
}

nlohmann::json step_series_json(const StepSeries& series) {
  return {{"name", series.name},
          {"site", series.site},
          {"count", series.count},
          {"first_seconds", series.first_seconds},
          {"intervals", series.intervals},
          {"threads", series.threads},
          {"median_seconds", series.median_seconds},
          {"lower_quartile_seconds", series.lower_quartile_seconds},
          {"upper_quartile_seconds", series.upper_quartile_seconds},
          {"per_second", series.per_second()}};
}

nlohmann::json run_json(const RunSummary& run) {
  auto steps = nlohmann::json::array();
  for (const StepSeries& series : run.steps) steps.push_back(step_series_json(series));
  return {{"command", run.command},
          {"status", run.status},
          {"signal", run.signal != 0 ? nlohmann::json(signal_name(run.signal)) : nlohmann::json()},
          {"interrupted", run.interrupted},
          {"seconds", run.seconds},
          {"processes", run.processes},
          {"facts", run.facts},
          {"steps", std::move(steps)},
          {"epochs", run.epochs},
          {"memory",
           {{"tensor_bytes", run.memory.tensor_bytes},
            {"block_bytes", run.memory.block_bytes},
            {"driver_bytes", run.memory.driver_bytes},
            {"largest_buffer_bytes", run.memory.largest_buffer_bytes},
            {"limit_bytes", run.memory.limit_bytes != 0 ? nlohmann::json(run.memory.limit_bytes) : nlohmann::json()}}},
          {"fallbacks", counted_json(run.fallbacks)},
          {"synchronisations", counted_json(run.synchronisations)},
          {"float64", counted_json(run.float64)},
          {"out_of_memory", counted_json(run.out_of_memory)},
          {"too_large", counted_json(run.too_large)},
          {"errors", counted_json(run.errors)},
          {"caveats", run.caveats}};
}

}  // namespace

RunSummary summarise(const host::ChildCommand& command, const host::ChildResult& result,
                     const std::vector<TraceFile>& traces) {
  RunSummary summary;
  summary.command = command.words;
  summary.status = result.status();
  summary.signal = result.signal;
  summary.interrupted = result.interrupted;
  summary.seconds = result.seconds;

  std::set<std::uint32_t> processes;
  std::uint64_t largest_buffer = 0;
  for (const TraceFile& trace : traces) {
    if (!trace.error.empty()) continue;
    processes.insert(trace.pid);
    largest_buffer = std::max(largest_buffer, trace.largest_buffer_bytes);
    for (const auto& [key, value] : trace.facts) summary.facts.emplace(key, value);  // the first process speaks
    if (trace.peak_driver_bytes > summary.memory.driver_bytes ||
        (trace.peak_driver_bytes == summary.memory.driver_bytes &&
         trace.peak_allocated_bytes > summary.memory.tensor_bytes)) {
      summary.memory = {trace.peak_allocated_bytes, peak_block_of(trace), trace.peak_driver_bytes,
                        number_from(trace.facts, "limit"), 0};
    }
  }
  summary.memory.largest_buffer_bytes = largest_buffer;
  if (summary.memory.limit_bytes == 0) summary.memory.limit_bytes = number_from(summary.facts, "limit");
  summary.processes = processes.size();
  summary.steps = step_series(traces);
  summary.epochs = total_of(counted_events(traces, TraceKind::kEpoch));
  summary.fallbacks = counted_events(traces, TraceKind::kFallback);
  summary.synchronisations = counted_events(traces, TraceKind::kSync);
  summary.float64 = counted_events(traces, TraceKind::kFloat64);
  summary.out_of_memory = counted_events(traces, TraceKind::kOutOfMemory);
  summary.too_large = counted_events(traces, TraceKind::kBufferTooLarge);
  summary.errors = counted_events(traces, TraceKind::kError);
  summary.caveats = caveats_of(traces);
  return summary;
}

std::optional<double> RunReport::speed_ratio() const {
  if (!versus || run.steps.empty() || versus->steps.empty()) return std::nullopt;
  const double ours = run.steps.front().per_second();
  const double theirs = versus->steps.front().per_second();
  if (ours <= 0 || theirs <= 0) return std::nullopt;
  return ours / theirs;
}

nlohmann::json to_json(const RunReport& report) {
  nlohmann::json json = {{"version", 1}, {"run", run_json(report.run)}};
  if (report.versus) {
    const std::optional<double> ratio = report.speed_ratio();
    json["versus"] = run_json(*report.versus);
    json["versus"]["arguments"] = report.versus_arguments;
    json["speed_ratio"] = ratio ? nlohmann::json(*ratio) : nlohmann::json();
  }
  return json;
}

std::uint64_t total_of(const std::vector<Counted>& events) {
  std::uint64_t total = 0;
  for (const Counted& event : events) total += event.count;
  return total;
}

std::string signal_name(int number) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
  if (const char* name = ::sigabbrev_np(number)) return std::string("SIG") + name;
#endif
  return "signal " + std::to_string(number);
}

}  // namespace anymps::lab::trace
