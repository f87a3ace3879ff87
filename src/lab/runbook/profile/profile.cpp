#include "lab/runbook/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lab/base/nanosecond.h"
#include "lab/runbook/document/described.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/trial/step_times.h"
#include "lab/trace/replayed_timeline.h"

namespace anymps::lab::runbook::profile {
namespace {

using gpu::trace::TraceKind;
using nlohmann::json;

constexpr std::size_t kOtherCalls = 3;
constexpr std::size_t kRowsKept = 20;

// Whether the window lies in the script's first epoch, behind it, or in both: the first one compiles and fills caches.
std::string epoch_window(const trial::RecordedProcess& process, const trial::StepTimes& times, std::uint64_t warm_up) {
  const std::uint64_t first = std::max<std::uint64_t>(1, warm_up);
  const std::uint64_t last = first + times.steady_steps;
  const std::uint64_t first_epoch = process.epochs.empty() ? UINT64_MAX : process.epochs.front().steps;
  if (last <= first_epoch) return fmt::format("first epoch, steps {} to {}", first + 1, last);
  if (first >= first_epoch) return fmt::format("steady epochs, steps {} to {}", first + 1, last);
  return fmt::format("steps {} to {}, of which {} are of the first epoch", first + 1, last, first_epoch - first);
}

trial::Spread intervals_between(const trial::RecordedProcess& process, std::uint64_t first, std::uint64_t last) {
  std::vector<double> seconds;
  for (std::uint64_t i = std::max<std::uint64_t>(1, first); i < std::min<std::uint64_t>(last, process.steps.size());
       ++i) {
    seconds.push_back(static_cast<double>(process.steps[i].time_ns - process.steps[i - 1].time_ns) * base::kNanosecond);
  }
  return trial::Spread::of(std::move(seconds));
}

std::optional<double> seconds_of(const trial::Spread& spread) {
  return spread.median > 0 ? std::optional(spread.median) : std::nullopt;
}

TrialEnd end_of(const trial::Trial& trial) {
  TrialEnd end{.failure = trial.failure(), .error = {}};
  if (trial.main() != nullptr && !trial.main()->errors.empty()) end.error = trial.main()->errors.front();
  return end;
}

std::vector<WaitRow> waits_of(const trial::RecordedProcess& process) {
  std::vector<WaitRow> rows;
  for (const trial::RecordedWait& wait : process.waits) {
    rows.push_back({.name = wait.name, .site = wait.site, .count = wait.count, .seconds = wait.seconds});
  }
  std::ranges::sort(rows, std::greater{}, &WaitRow::count);
  return rows;
}

// The trace of the process that took the steps, from its warm-up's end on.
std::optional<trace::TraceFile> window_of(const trial::Trial& trial, std::uint64_t warm_up) {
  const trial::RecordedProcess* main = trial.main();
  if (main == nullptr || main->steps.size() <= warm_up) return std::nullopt;
  const auto found = std::ranges::find_if(trial.traces, [main](const trace::TraceFile& trace) {
    return trace.pid == static_cast<std::uint64_t>(main->pid);
  });
  if (found == trial.traces.end()) return std::nullopt;
  trace::TraceFile window = *found;
  const std::uint64_t begin = main->steps[static_cast<std::size_t>(std::max<std::uint64_t>(1, warm_up)) - 1].time_ns;
  const std::uint64_t end = main->steps.back().time_ns;
  std::erase_if(window.records,
                [=](const trace::TraceRecord& record) { return record.time_ns <= begin || record.time_ns > end; });
  return window;
}

struct Fallbacks {
  std::vector<FallbackRow> rows;
  double seconds = 0;
};

Fallbacks fallbacks_of(const trace::TraceFile& window) {
  std::set<std::string> names;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (const trace::TraceRecord& record : window.records) {
    if (record.kind != TraceKind::kFallback) continue;
    names.insert(record.name);
    ++counts[{record.name, record.site}];
  }
  Fallbacks fallbacks;
  for (const trace::TraceRecord& record : window.records) {
    if (record.kind == TraceKind::kCall && names.contains(record.name))
      fallbacks.seconds += static_cast<double>(record.b) * base::kNanosecond;
  }
  for (const auto& [place, count] : counts) {
    fallbacks.rows.push_back({.name = place.first, .site = place.second, .count = count});
  }
  return fallbacks;
}

std::vector<OperatorRow> longest_operators(const trace::ReplayedTimeline& timeline) {
  std::vector<OperatorRow> rows;
  for (const auto& [name, times] : timeline.operators) {
    rows.push_back({.name = name,
                    .count = times.count,
                    .self_seconds = times.self_seconds,
                    .queued_seconds = times.queued_seconds,
                    .waited_seconds = times.waited_seconds});
  }
  std::ranges::sort(rows, std::greater{}, &OperatorRow::self_seconds);
  if (rows.size() > kRowsKept) rows.resize(kRowsKept);
  return rows;
}

ModelledDevice modelled_of(const trace::ReplayedTimeline& timeline) {
  return {.host_seconds = timeline.host_seconds,
          .busy_seconds = timeline.busy_seconds,
          .busy_share = timeline.busy_share(),
          .queued_seconds = timeline.queued_seconds,
          .waited_seconds = timeline.waited_seconds,
          .kernels = timeline.kernels,
          .waits = timeline.waits};
}

double median_of(const std::vector<trial::RecordedRound>& rounds) {
  std::vector<double> seconds;
  for (const trial::RecordedRound& round : rounds) {
    if (round.counts) seconds.push_back(round.seconds);
  }
  return trial::Spread::of(std::move(seconds)).median;
}

// What was called outside of all stages, those that took most first.
std::vector<OtherCall> longest_calls(const std::map<std::string, double>& calls, double total) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [call, spent] : calls) sorted.emplace_back(spent, call);
  std::ranges::sort(sorted, std::greater{});
  std::vector<OtherCall> rows;
  for (const auto& [spent, call] : sorted) {
    const std::size_t tab = call.find('\t');
    if (rows.size() == kOtherCalls || total <= 0) break;
    if (tab == std::string::npos || tab == 0) continue;
    rows.push_back({.function = call.substr(0, tab), .site = call.substr(tab + 1), .share = spent / total});
  }
  return rows;
}

// Adds what an object has by name, in nanoseconds, and tells how much that was.
double add_up(const json& spent, std::map<std::string, double>& sums) {
  double total = 0;
  for (const auto& [name, nanoseconds] : spent.items()) {
    if (!nanoseconds.is_number()) continue;
    sums[name] += nanoseconds.get<double>();
    total += nanoseconds.get<double>();
  }
  return total;
}

}  // namespace

json ProfileSettings::key() const {
  return {warm_up, steps, seconds, input_limit, fallback_limit, waits_limit, stage_names, bisect_workers.value_or(0)};
}

FullPart full_part(const trial::Trial& trial, const ProfileSettings& profile) {
  FullPart part{.end = end_of(trial), .window = {}};
  const trial::RecordedProcess* main = trial.main();
  if (main == nullptr) return part;
  const trial::StepTimes times = trial::step_times(*main, profile.warm_up);
  const std::uint64_t first_epoch = main->epochs.empty() ? main->steps.size() : main->epochs.front().steps;
  part.window = {.step_seconds = times.seconds.median,
                 .step_low = times.seconds.low,
                 .step_high = times.seconds.high,
                 .steps = times.steady_steps,
                 .first_step_seconds = times.first_seconds,
                 .first_epoch_step_seconds = seconds_of(intervals_between(*main, profile.warm_up, first_epoch)),
                 .steady_step_seconds =
                     seconds_of(intervals_between(*main, std::max(profile.warm_up, first_epoch), main->steps.size())),
                 .input_share = times.input_share,
                 .samples_per_step = times.samples_per_step,
                 .window_seconds = times.window_seconds,
                 .epoch_window = epoch_window(*main, times, profile.warm_up),
                 .waits = waits_of(*main),
                 .device = document::string_in(main->facts, "device"),
                 .simulated = document::flag_in(main->begin, "simulated"),
                 .peak_bytes = trial.peak_bytes()};
  return part;
}

OperatorsPart operators_part(const trial::Trial& trial, const ProfileSettings& profile) {
  OperatorsPart part{.end = end_of(trial), .traced = {}};
  const std::optional<trace::TraceFile> window = window_of(trial, profile.warm_up);
  if (!window) return part;
  const trial::StepTimes times = trial::step_times(*trial.main(), profile.warm_up);
  const trace::ReplayedTimeline timeline = trace::replay(*window);
  Fallbacks fallbacks = fallbacks_of(*window);
  const double whole = times.window_seconds > 0 ? times.window_seconds : 1;
  const auto waits = std::ranges::count(window->records, TraceKind::kSync, &trace::TraceRecord::kind);
  part.traced = {.operators = longest_operators(timeline),
                 .fallbacks = std::move(fallbacks.rows),
                 .device_share = std::min(1.0, timeline.busy_seconds / whole),
                 .fallback_share = std::min(1.0, fallbacks.seconds / whole),
                 .modelled = modelled_of(timeline),
                 .waits_per_step =
                     static_cast<double>(waits) / static_cast<double>(std::max<std::uint64_t>(1, times.steady_steps))};
  return part;
}

LoadingPart data_part(const trial::Trial& trial) {
  LoadingPart part;
  part.end = end_of(trial);
  const trial::RecordedProcess* main = trial.main();
  if (main == nullptr) return part;
  std::uint64_t descriptors = 0;
  for (const trial::RecordedProcess& process : trial.recording.processes) {
    if (!process.uses.empty()) descriptors += process.uses.back().value("fds", std::uint64_t{0});
  }
  part.batch_seconds = median_of(main->loads);
  part.batches = main->loads.size();
  part.descriptors = descriptors;
  part.resident_bytes = trial.resident.bytes;
  part.processes = trial.recording.processes.size();
  return part;
}

StagesPart stages_part(const trial::Trial& trial) {
  std::map<std::string, double> stages;
  std::map<std::string, double> others;
  double total = 0;
  for (const trial::RecordedProcess& process : trial.recording.processes) {
    for (const json& fetch : process.fetches) {
      total += add_up(document::object_in(fetch, "stages"), stages);
      add_up(document::object_in(fetch, "others"), others);
    }
  }
  StagesPart part{.end = end_of(trial), .loading = {.stages = {}, .others = longest_calls(others, total)}};
  for (const auto& [stage, spent] : stages) part.loading.stages[stage] = total > 0 ? spent / total : 0;
  return part;
}

ForwardPart forward_part(const trial::Trial& trial) {
  ForwardPart part{.end = end_of(trial), .seconds = {}};
  const trial::RecordedProcess* main = trial.main();
  if (main == nullptr || main->forwards.empty()) return part;
  // Calls return before the device is done; the whole window waited for it.
  const auto counted =
      std::ranges::count_if(main->forwards, [](const trial::RecordedRound& round) { return round.counts; });
  const double window = static_cast<double>(main->window_end_ns - main->window_begin_ns) * base::kNanosecond;
  part.seconds = counted > 0 && main->window_end_ns > main->window_begin_ns ? window / static_cast<double>(counted)
                                                                            : median_of(main->forwards);
  return part;
}

}  // namespace anymps::lab::runbook::profile
