#include "lab/check/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "lab/host/child.h"
#include "lab/host/python.h"

namespace anymps::lab::check {
namespace {

using gpu::trace::TraceKind;

// Of python/anymps/_clock_reads.py, compiled in: whichever Python is found need not have anymps installed.
constexpr const char* kClockReads =
#include "clock_reads.inc"
    ;

std::map<std::string, DeviceLines> device_lines(const std::vector<trace::TraceFile>& traces) {
  std::map<std::string, DeviceLines> files;
  for (const trace::TraceFile& trace : traces) {
    for (const trace::TraceTally& tally : trace.tallies) {
      if (tally.kind != TraceKind::kWork) continue;
      const trace::SourceSite site = trace::SourceSite::parse(tally.site);
      if (!site.known() || site.in_notebook()) continue;
      DeviceLines& lines = files[site.file];
      (tally.name == "wait" ? lines.waits : lines.work).push_back(site.line);
    }
  }
  std::erase_if(files, [](const auto& file) {
    std::error_code error;
    return file.second.work.empty() || !std::filesystem::is_regular_file(file.first, error);
  });
  return files;
}

LineRange range_from(const nlohmann::json& json) { return {json.at("first"), json.at("last")}; }

using Intervals = std::map<std::string, std::vector<ClockInterval>>;

// Nothing where Python cannot be asked.
std::optional<Intervals> clock_intervals(const std::map<std::string, DeviceLines>& files) {
  host::ChildCommand command{{host::find_python(), "-I", "-c", kClockReads}, {}};
  for (const auto& [file, _] : files) command.words.push_back(file);
  const host::ChildResult result = host::run_child(command, host::ChildOutput::kCapture);
  if (result.status() != 0) return std::nullopt;
  try {
    Intervals intervals;
    const auto answer = nlohmann::json::parse(result.output);
    for (const auto& [file, found] : answer.items()) {
      for (const nlohmann::json& one : found) {
        ClockInterval& interval = intervals[file].emplace_back();
        interval.lines = range_from(one);
        for (const nlohmann::json& loop : one.at("loops")) interval.loops.push_back(range_from(loop));
      }
    }
    return intervals;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

bool is_unsynchronised(const ClockInterval& interval, const DeviceLines& lines) {
  unsigned last_work = 0;
  for (const unsigned line : lines.work) {
    if (interval.lines.holds(line)) last_work = std::max(last_work, line);
  }
  if (last_work == 0) return false;
  return std::ranges::none_of(lines.waits, [&](unsigned wait) {
    if (!interval.lines.holds(wait)) return false;
    return wait >= last_work || std::ranges::any_of(interval.loops, [&](const LineRange& loop) {
             return loop.holds(wait) && loop.holds(last_work);
           });
  });
}

TimingFindings timing_findings(const std::vector<trace::TraceFile>& traces) {
  TimingFindings result;
  const auto files = device_lines(traces);
  if (files.empty()) return result;
  const auto intervals = clock_intervals(files);
  if (!intervals) {
    result.why_not = fmt::format("{} could not read the source", host::find_python());
    return result;
  }
  for (const auto& [file, found] : *intervals) {
    const auto lines = files.find(file);
    if (lines == files.end()) continue;
    for (const ClockInterval& interval : found) {
      if (!is_unsynchronised(interval, lines->second)) continue;
      Finding& finding = result.findings.emplace_back();
      finding.rule = check_rule(kTimingRule);
      finding.site = {file, interval.lines.last};
      finding.count = 1;
      finding.detail = fmt::format("the clock runs from line {}; the device works between, and is not waited for",
                                   interval.lines.first);
    }
  }
  return result;
}

}  // namespace anymps::lab::check
