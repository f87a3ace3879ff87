#include "lab/check/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace anymps::lab::check {
namespace {

using gpu::trace::TraceKind;

// A line that waits now and then, for a log, does no harm.
constexpr std::uint64_t kFewestWaits = 8;
constexpr std::uint64_t kStepsPerWait = 4;

// A program that asks for the wait means it; the others do not see that they wait.
bool asked_for(std::string_view wait) {
  constexpr std::array kAsked = {"synchronize", "stream synchronize", "event synchronize", "event elapsed_time",
                                 "metal capture"};
  return std::ranges::find(kAsked, wait) != kAsked.end();
}

struct Waits {
  std::set<std::string> names;
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  bool in_the_loop = false;
};

// The optimiser that steps most often gives the loop its beat.
const trace::TraceTally* steps_tally(const trace::TraceFile& trace) {
  const trace::TraceTally* most = nullptr;
  for (const trace::TraceTally& tally : trace.tallies) {
    if (tally.kind == TraceKind::kStep && (most == nullptr || most->count < tally.count)) most = &tally;
  }
  return most;
}

// Of the records that the ring still holds: after how many different steps each line waited.
struct Beat {
  std::uint64_t steps = 0;
  std::map<std::string, std::set<std::uint64_t>> waited_after;

  Beat(const trace::TraceFile& trace, const trace::TraceTally& step) {
    for (const trace::TraceRecord& record : trace.records) {
      if (record.kind == TraceKind::kStep && record.name == step.name && record.site == step.site) ++steps;
      if (record.kind == TraceKind::kSync) waited_after[record.site].insert(steps);
    }
  }
};

bool often_enough(std::uint64_t waits, std::uint64_t steps) { return waits * kStepsPerWait >= steps; }

}  // namespace

std::vector<Finding> wait_findings(const std::vector<trace::TraceFile>& traces) {
  std::map<std::string, Waits> by_site;
  for (const trace::TraceFile& trace : traces) {
    const trace::TraceTally* step = steps_tally(trace);
    const Beat beat(trace, step != nullptr ? *step : trace::TraceTally{});
    for (const trace::TraceTally& tally : trace.tallies) {
      if (tally.kind != TraceKind::kSync || tally.site.empty() || asked_for(tally.name)) continue;
      Waits& waits = by_site[tally.site];
      waits.names.insert(tally.name);
      waits.count += tally.count;
      waits.total += tally.total;
      const auto seen = beat.waited_after.find(tally.site);
      const bool here = seen != beat.waited_after.end() ? often_enough(seen->second.size(), beat.steps)
                                                        : often_enough(tally.count, step != nullptr ? step->count : 0);
      waits.in_the_loop = waits.in_the_loop || here;
    }
  }
  std::vector<Finding> findings;
  for (const auto& [site, waits] : by_site) {
    if (waits.count < kFewestWaits || !waits.in_the_loop) continue;
    Finding& finding = findings.emplace_back();
    finding.rule = check_rule("synchronisation");
    finding.subject = fmt::format("{}", fmt::join(waits.names, ", "));
    finding.site = trace::SourceSite::parse(site);
    finding.count = waits.count;
    finding.total = waits.total;
  }
  return findings;
}

}  // namespace anymps::lab::check
