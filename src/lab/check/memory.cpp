#include "lab/check/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "lab/base/counted.h"
#include "lab/base/least_squares.h"
#include "lab/base/units.h"
#include "lab/size/report.h"

namespace anymps::lab::check {
namespace {

using gpu::trace::TraceKind;

// A loss kept for the log is no leak: a scalar of the device takes less than this.
constexpr double kLeastGrowth = 1024;
constexpr std::size_t kFewestSteps = 10;
constexpr std::size_t kFewestEpochs = 4;
constexpr double kNear = 0.9;
// From 10 MiB on PyTorch puts buffers into heaps of 1 GiB, smaller ones into heaps of 32 and 8 MiB. One of each that is
// nearly empty is no fragmentation.
constexpr double kFragmentedShare = 1.5;
constexpr std::uint64_t kFragmentedBytes = std::uint64_t{1024 + 64} << 20;

double byte_slope(std::span<const std::uint64_t> values) {
  return base::StraightLine::over_index(std::vector<double>(values.begin(), values.end())).slope;
}

struct Series {
  TraceKind kind{};
  std::string name;
  std::string site;
  std::vector<std::uint64_t> bytes;
};

// What each loop of each process and thread held at the end of each round.
std::vector<Series> series_of(const std::vector<trace::TraceFile>& traces) {
  std::vector<Series> all;
  for (const trace::TraceFile& trace : traces) {
    std::map<std::tuple<TraceKind, std::string, std::string, std::uint32_t>, Series> of_trace;
    for (const trace::TraceRecord& record : trace.records) {
      if (record.kind != TraceKind::kStep && record.kind != TraceKind::kEpoch) continue;
      Series& series = of_trace[{record.kind, record.name, record.site, record.thread}];
      series.kind = record.kind;
      series.name = record.name;
      series.site = record.site;
      series.bytes.push_back(record.c);
    }
    for (auto& [_, series] : of_trace) all.push_back(std::move(series));
  }
  return all;
}

Finding growth_finding(const Series& series, const Growth& growth) {
  const char* round = series.kind == TraceKind::kStep ? "step" : "epoch";
  Finding finding;
  finding.rule = check_rule("memory-growth");
  finding.subject = "over " + base::counted(growth.last - growth.first, round);
  finding.site = trace::SourceSite::parse(series.site);
  finding.count = 1;
  finding.total = growth.total();
  finding.detail = fmt::format(
      "{} more in tensors each {}, from {} {} to {}; this line ends a {}, and anymps plateau names the lines that keep "
      "the tensors",
      base::human_bytes(static_cast<std::uint64_t>(growth.bytes_each)), round, round, growth.first + 1, growth.last + 1,
      round);
  return finding;
}

// Optimisers of one loop grow together, and so do its processes; the one that grows most stands for all.
void add_growth(const std::vector<trace::TraceFile>& traces, std::vector<Finding>& findings) {
  const std::vector<Series> all = series_of(traces);
  const auto most = [&all](TraceKind kind, std::size_t fewest) -> std::optional<Finding> {
    std::optional<Finding> largest;
    for (const Series& series : all) {
      if (series.kind != kind) continue;
      const std::size_t warm_up = kind == TraceKind::kStep ? std::max<std::size_t>(2, series.bytes.size() / 10) : 1;
      const auto growth = steady_growth(series.bytes, warm_up, fewest);
      if (growth && (!largest || largest->total < growth->total())) largest = growth_finding(series, *growth);
    }
    return largest;
  };
  auto finding = most(TraceKind::kStep, kFewestSteps);
  // Steps that grow make epochs grow; only the other way round is it news.
  if (!finding) finding = most(TraceKind::kEpoch, kFewestEpochs);
  if (finding) findings.push_back(std::move(*finding));
}

Finding of_the_run(std::string_view rule, std::uint64_t bytes, std::string detail) {
  Finding finding;
  finding.rule = check_rule(rule);
  finding.count = 1;
  finding.total = bytes;
  finding.detail = std::move(detail);
  return finding;
}

std::uint64_t trace_number(const trace::TraceFile& trace, const char* key) {
  const auto fact = trace.facts.find(key);
  return fact != trace.facts.end() ? std::strtoull(fact->second.c_str(), nullptr, 10) : 0;
}

}  // namespace

std::uint64_t Growth::total() const {
  return static_cast<std::uint64_t>(bytes_each * static_cast<double>(last - first));
}

std::optional<Growth> steady_growth(std::span<const std::uint64_t> bytes, std::size_t warm_up, std::size_t fewest) {
  if (bytes.size() < warm_up + fewest) return std::nullopt;
  const auto looked_at = bytes.subspan(warm_up);
  const double slope = byte_slope(looked_at);
  if (slope < kLeastGrowth) return std::nullopt;
  const std::size_t third = std::max<std::size_t>(looked_at.size() / 3, 2);
  const auto beginning = looked_at.first(third);
  const auto end = looked_at.last(third);
  if (*std::ranges::min_element(end) <= *std::ranges::max_element(beginning)) return std::nullopt;
  if (byte_slope(end) < slope / 2) return std::nullopt;
  return Growth{slope, warm_up, bytes.size() - 1};
}

CheckMemory check_memory(const std::vector<trace::TraceFile>& traces) {
  CheckMemory memory;
  for (const trace::TraceFile& trace : traces) {
    const std::uint64_t block = trace::peak_block_of(trace);
    const std::uint64_t limit = trace_number(trace, "limit");
    const std::uint64_t recommended = trace_number(trace, "recommended");
    if (memory.limit_bytes == 0) memory.limit_bytes = limit;
    if (memory.recommended_bytes == 0) memory.recommended_bytes = recommended;
    if (std::pair(trace.peak_driver_bytes, block) <= std::pair(memory.driver_bytes, memory.block_bytes)) continue;
    memory = {trace.peak_allocated_bytes, block, trace.peak_driver_bytes, limit, recommended};
  }
  // A program that takes the limit away does not make the Mac larger.
  if (memory.limit_bytes == 0) {
    memory.limit_bytes =
        static_cast<std::uint64_t>(size::kHighWatermark * static_cast<double>(memory.recommended_bytes));
  }
  return memory;
}

std::vector<Finding> memory_findings(const std::vector<trace::TraceFile>& traces, const CheckMemory& memory) {
  std::vector<Finding> findings;
  add_growth(traces, findings);
  if (memory.limit_bytes != 0 && memory.block_bytes > memory.limit_bytes) {
    findings.push_back(
        of_the_run("memory-does-not-fit", memory.block_bytes,
                   fmt::format("peak of {} in tensors and temporaries; PyTorch's limit there is {}",
                               base::human_bytes(memory.block_bytes), base::human_bytes(memory.limit_bytes))));
  } else if (memory.recommended_bytes != 0 &&
             static_cast<double>(memory.driver_bytes) > kNear * static_cast<double>(memory.recommended_bytes)) {
    findings.push_back(
        of_the_run("memory-near-limit", memory.driver_bytes,
                   fmt::format("peak of {} held from the driver; Metal recommends at most {}",
                               base::human_bytes(memory.driver_bytes), base::human_bytes(memory.recommended_bytes))));
  }
  const std::uint64_t beside = memory.driver_bytes - std::min(memory.driver_bytes, memory.block_bytes);
  if (beside >= kFragmentedBytes &&
      static_cast<double>(memory.driver_bytes) >= kFragmentedShare * static_cast<double>(memory.block_bytes)) {
    findings.push_back(
        of_the_run("memory-fragmentation", beside,
                   fmt::format("peak of {} held from the driver, of {} in tensors and temporaries",
                               base::human_bytes(memory.driver_bytes), base::human_bytes(memory.block_bytes))));
  }
  return findings;
}

}  // namespace anymps::lab::check
