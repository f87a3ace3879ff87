#include "lab/trace/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ranges>
#include <string_view>

#include "lab/base/nanosecond.h"
#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::trace {
namespace {

using gpu::trace::TraceKind;

constexpr std::size_t kMostTraceRows = 8;
constexpr std::size_t kNameWidth = 44;

class TraceScreen {
 public:
  explicit TraceScreen(const base::Terminal& terminal) : terminal_(terminal) {}

  void heading(std::string_view text) {
    line(terminal_.colour ? fmt::format("\033[1m{}\033[0m", text) : std::string(text));
  }
  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  const base::Terminal& terminal_;
  std::string text_;
};

std::string label_of(const TraceRow& row) {
  std::string name = base::keep_end(row.name, kNameWidth);
  constexpr std::string_view kAt = " at ";
  if (row.site.empty() || base::length_of(name) + kAt.size() >= kNameWidth) return name;
  return name + std::string(kAt) + base::keep_end(row.site, kNameWidth - base::length_of(name) - kAt.size());
}

void table(TraceScreen& screen, std::string_view title, const std::vector<TraceRow>& rows) {
  if (rows.empty()) return;
  const std::uint64_t all = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                                            [](std::uint64_t sum, const TraceRow& row) { return sum + row.total_ns; });
  // Some things are counted alone.
  screen.heading(all == 0 ? fmt::format("{:<{}} {:>10}", title, kNameWidth, "count")
                          : fmt::format("{:<{}} {:>10} {:>6} {:>9} {:>10} {:>10}", title, kNameWidth, "total", "share",
                                        "count", "mean", "longest"));
  for (const TraceRow& row : rows | std::views::take(kMostTraceRows)) {
    if (all == 0) {
      screen.line(fmt::format("{:<{}} {:>10}", label_of(row), kNameWidth, row.count));
      continue;
    }
    const double total = static_cast<double>(row.total_ns) * base::kNanosecond;
    screen.line(fmt::format("{:<{}} {:>10} {:>5.1f}% {:>9} {:>10} {:>10}", label_of(row), kNameWidth,
                            base::human_seconds(total),
                            100.0 * static_cast<double>(row.total_ns) / static_cast<double>(all), row.count,
                            base::human_seconds(total / static_cast<double>(std::max<std::uint64_t>(row.count, 1))),
                            base::human_seconds(static_cast<double>(row.longest_ns) * base::kNanosecond)));
  }
  if (rows.size() > kMostTraceRows) screen.line(fmt::format("… and {} more", rows.size() - kMostTraceRows));
  screen.line("");
}

// How busy the device was from the first to the last record of the ring, from left to right.
void strip(TraceScreen& screen, const TraceFile& trace, const base::Terminal& terminal) {
  static constexpr std::array<std::string_view, 9> kLevels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (trace.records.empty()) return;
  const std::size_t width = std::clamp<std::size_t>(terminal.width, 40, 100) - 10;
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  for (const TraceRecord& record : trace.records) {
    begin = std::min(begin, record.time_ns - std::min(record.time_ns, record.b));
    end = std::max(end, record.time_ns);
  }
  if (end <= begin) return;
  std::vector<double> busy(width, 0.0);
  const double bucket = static_cast<double>(end - begin) / static_cast<double>(width);
  for (const TraceRecord& record : trace.records) {
    if (record.kind != TraceKind::kOperator && record.kind != TraceKind::kShader) continue;
    double from = static_cast<double>(record.time_ns - record.b - begin);
    const double to = static_cast<double>(record.time_ns - begin);
    while (from < to) {
      const auto at = std::min(static_cast<std::size_t>(from / bucket), width - 1);
      const double next = std::min(to, (static_cast<double>(at) + 1) * bucket);
      busy[at] += next - from;
      if (next <= from) break;
      from = next;
    }
  }
  std::string text;
  for (const double share : busy) {
    const auto level =
        static_cast<std::size_t>(std::lround(std::clamp(share / bucket, 0.0, 1.0) * (kLevels.size() - 1)));
    text += kLevels[level];
  }
  screen.line(fmt::format("device    {}", text));
  screen.line(fmt::format("          {:<{}}{}", "0", width > 12 ? width - 10 : 2,
                          base::human_seconds(static_cast<double>(end - begin) * base::kNanosecond)));
}

}  // namespace

std::string trace_screen(const TraceSummary& summary, const base::Terminal& terminal) {
  TraceScreen screen(terminal);
  for (const std::string& reason : summary.unreadable) screen.line(reason);
  for (const TracedProcess& process : summary.processes) {
    screen.heading(fmt::format("{} (process {})", process.trace->command, process.trace->pid));
    strip(screen, *process.trace, terminal);
    const ReplayedTimeline& timeline = process.timeline;
    if (timeline.kernels != 0) {
      screen.line(fmt::format("{}  a device beside the host: busy {:.0f}% of {}; the host waits {} of it ({} times)",
                              timeline.name(), 100 * timeline.busy_share(), base::human_seconds(timeline.host_seconds),
                              base::human_seconds(timeline.waited_seconds), timeline.waits));
      if (timeline.measured) {
        screen.line(fmt::format("overlap   {} of the device's {} while the host did not wait",
                                base::human_seconds(timeline.overlapped_seconds()),
                                base::human_seconds(timeline.busy_seconds)));
      }
    }
    if (process.lost != 0) {
      screen.line(fmt::format("lost      {} of {} events: the oldest; --events keeps more", process.lost,
                              process.trace->records_written));
    }
    screen.line("");
  }
  table(screen, "on the device", summary.kernels);
  table(screen, "called by the host (with what they call)", summary.calls);
  table(screen, "the host waits", summary.waits);
  table(screen, "fell back to the CPU", summary.fallbacks);
  return screen.take();
}

}  // namespace anymps::lab::trace
