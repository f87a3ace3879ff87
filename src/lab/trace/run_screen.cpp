#include "lab/trace/run_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::trace {
namespace {

constexpr std::size_t kNarrowestSummary = 60;
constexpr std::size_t kWidestSummary = 110;
constexpr std::size_t kLabelWidth = 12;
constexpr std::size_t kEventsShown = 5;
constexpr std::size_t kMemoryBarWidth = 20;
// Below this many intervals, or with a spread above this share of the median, a rate says little.
constexpr std::uint64_t kFewIntervals = 10;
constexpr double kWideSpread = 0.3;

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4) digits.insert(digits.size() - from_end, ",");
  return digits;
}

std::string rate(const StepSeries& series) {
  const double per_second = series.per_second();
  if (per_second >= 1000) return with_commas(static_cast<std::uint64_t>(std::llround(per_second))) + " steps/s";
  return fmt::format("{:.{}f} steps/s", per_second, per_second < 10 ? 2 : 1);
}

std::string site_place(const std::string& site) { return SourceSite::parse(site).text(); }

class SummaryScreen {
 public:
  explicit SummaryScreen(const base::Terminal& terminal)
      : width_(std::clamp(terminal.width, kNarrowestSummary, kWidestSummary)), terminal_(terminal) {}

  std::size_t room() const { return width_ - kLabelWidth; }

  void rule(std::string_view title = "") {
    const std::size_t title_width = title.empty() ? 0 : title.size() + 4;
    std::string line;
    for (std::size_t i = title_width; i < width_; ++i) line += "─";
    text_ += terminal_.paint(base::kDim, line);
    if (!title.empty()) text_ += " " + terminal_.paint(base::kBold, title) + terminal_.paint(base::kDim, " ──");
    text_ += "\n";
  }

  void line(std::string_view label, std::string_view text, std::string_view code = "") {
    const std::string fitting = base::keep_start(text, room());
    text_ += terminal_.paint(base::kBold, fmt::format("{:<{}}", label, kLabelWidth));
    text_ += terminal_.paint(code, fitting);
    text_ += "\n";
  }

  std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  const base::Terminal& terminal_;
  std::string text_;
};

void add_command(SummaryScreen& screen, const RunSummary& run) {
  screen.line("command", command_text(run));
  screen.line("ended", ended_text(run), run.status == 0 ? "" : base::kRed);
}

void add_steps(SummaryScreen& screen, const RunSummary& run) {
  if (run.steps.empty()) {
    screen.line("speed", "no steps: no optimiser stepped, nor anymps.step()", base::kYellow);
    return;
  }
  const StepSeries& main = run.steps.front();
  const std::string what =
      fmt::format("{} step{}{}", with_commas(main.count), main.count == 1 ? "" : "s",
                  run.epochs > 0 ? fmt::format(" in {} epoch{}", run.epochs, run.epochs == 1 ? "" : "s") : "");
  if (main.intervals == 0) {
    screen.line("speed", what + ", too few for a rate", base::kYellow);
  } else {
    screen.line("speed",
                fmt::format("{}{}   {}", rate(main),
                            main.threads > 1 ? fmt::format(" in each of {} threads", main.threads) : "", what));
    const double spread = (main.upper_quartile_seconds - main.lower_quartile_seconds) / main.median_seconds;
    screen.line(
        "",
        fmt::format("median of {}; the middle half took {} to {}", with_commas(main.intervals),
                    base::human_seconds(main.lower_quartile_seconds), base::human_seconds(main.upper_quartile_seconds)),
        base::kDim);
    if (main.intervals < kFewIntervals) {
      screen.line("", "do not rely on it: these are few steps", base::kYellow);
    } else if (spread > kWideSpread) {
      screen.line("", "do not rely on it: the steps differ widely", base::kYellow);
    }
  }
  screen.line("",
              fmt::format("the first step ended {} after torch was imported", base::human_seconds(main.first_seconds)),
              base::kDim);
  screen.line("", base::keep_end(fmt::format("{} at {}", main.name, site_place(main.site)), screen.room()), base::kDim);
  for (std::size_t i = 1; i < std::min<std::size_t>(run.steps.size(), 3); ++i) {
    const StepSeries& other = run.steps[i];
    screen.line("",
                base::keep_end(fmt::format("also {} steps, {} at {}", with_commas(other.count), other.name,
                                           site_place(other.site)),
                               screen.room()),
                base::kDim);
  }
}

void add_versus(SummaryScreen& screen, const RunReport& report) {
  if (report.versus_arguments.empty()) return;
  const std::string arguments = base::keep_start(report.versus_arguments, screen.room() / 3);
  if (!report.versus) {
    screen.line("versus", "not run with " + arguments + ", because the run above did not end well", base::kYellow);
  } else if (const auto ratio = report.speed_ratio()) {
    screen.line("versus", fmt::format("{}   with {}", rate(report.versus->steps.front()), arguments));
    screen.line("", fmt::format("the run above was {:.2f} times as fast", *ratio), *ratio >= 1 ? base::kGreen : "");
  } else if (report.versus->status != 0) {
    screen.line("versus", fmt::format("with {}: ended with status {}", arguments, report.versus->status), base::kRed);
  } else {
    screen.line("versus", "no steps to compare with " + arguments, base::kYellow);
  }
}

void add_memory(SummaryScreen& screen, const RunSummary& run) {
  const Memory& memory = run.memory;
  std::string text = fmt::format("peak {} in tensors, {} from the driver", base::human_bytes(memory.tensor_bytes),
                                 base::human_bytes(memory.driver_bytes));
  if (run.processes > 1) text += " (largest process)";
  screen.line("memory", text);
  if (memory.limit_bytes == 0) return;
  const double share =
      std::min(1.0, static_cast<double>(memory.driver_bytes) / static_cast<double>(memory.limit_bytes));
  const auto filled = static_cast<std::size_t>(std::llround(share * kMemoryBarWidth));
  std::string bar;
  for (std::size_t i = 0; i < kMemoryBarWidth; ++i) bar += i < filled ? "█" : "░";
  screen.line("", fmt::format("{} {:.1f}% of the limit of {}", bar, 100 * share, base::human_bytes(memory.limit_bytes)),
              share > 0.9   ? base::kRed
              : share > 0.7 ? base::kYellow
                            : base::kDim);
}

void add_events(SummaryScreen& screen, std::string_view label, const std::vector<Counted>& events,
                std::string_view code, std::string_view none = "none") {
  if (events.empty()) {
    screen.line(label, none, base::kGreen);
    return;
  }
  const std::size_t shown = std::min(events.size(), kEventsShown);
  std::size_t name_width = 0;
  for (std::size_t i = 0; i < shown; ++i) name_width = std::max(name_width, base::length_of(events[i].name));
  name_width = std::min(name_width, screen.room() / 2);
  const std::size_t count_width = with_commas(events.front().count).size();
  for (std::size_t i = 0; i < shown; ++i) {
    std::string name = base::keep_start(events[i].name, name_width);
    name.append(name_width - base::length_of(name), ' ');
    const std::string text = fmt::format("{:>{}}  {}  ", with_commas(events[i].count), count_width, name);
    screen.line(i == 0 ? label : "",
                text + base::keep_end(site_place(events[i].site), screen.room() - base::length_of(text)), code);
  }
  if (events.size() > shown) {
    const std::vector<Counted> rest(events.begin() + static_cast<std::ptrdiff_t>(shown), events.end());
    screen.line("", fmt::format("{:>{}}  at {} more places", with_commas(total_of(rest)), count_width, rest.size()),
                base::kDim);
  }
}

}  // namespace

std::string command_text(const RunSummary& run) {
  std::vector<std::string> words = run.command;
  if (!words.empty()) words.front() = std::filesystem::path(words.front()).filename().string();
  return fmt::format("{}", fmt::join(words, " "));
}

std::string ended_text(const RunSummary& run) {
  const std::string after = "in " + base::human_seconds(run.seconds);
  if (run.signal != 0) return fmt::format("{}, by {} (status {})", after, signal_name(run.signal), run.status);
  return fmt::format("{}, status {}", after, run.status);
}

std::string device_text(const RunSummary& run) {
  const auto fact = [&run](const char* key) {
    const auto found = run.facts.find(key);
    return found != run.facts.end() ? found->second : std::string();
  };
  std::string text = fact("device").empty() ? "mps" : fact("device");
  if (!fact("mac").empty()) text += " as " + fact("mac");
  if (!fact("macos").empty()) text += ", macOS " + fact("macos");
  if (!fact("torch").empty()) text += ", torch " + fact("torch");
  if (run.processes != 1) text += fmt::format(", {} processes", run.processes);
  return text;
}

std::string summary_screen(const RunReport& report, const base::Terminal& terminal) {
  const RunSummary& run = report.run;
  SummaryScreen screen(terminal);
  screen.rule("anymps run");
  add_command(screen, run);
  if (run.processes == 0) {
    screen.line("device", "no process of this run loaded the mps device", base::kYellow);
  } else {
    screen.line("device", device_text(run));
    add_steps(screen, run);
    add_versus(screen, report);
    add_memory(screen, run);
    if (!run.out_of_memory.empty()) add_events(screen, "no memory", run.out_of_memory, base::kRed);
    if (!run.too_large.empty()) add_events(screen, "too large", run.too_large, base::kRed);
    if (!run.errors.empty()) add_events(screen, "errors", run.errors, base::kRed);
    add_events(screen, "fallbacks", run.fallbacks, base::kYellow);
    add_events(screen, "syncs", run.synchronisations, "");
    add_events(screen, "float64", run.float64, base::kYellow, "none on the device");
  }
  for (const std::string& caveat : run.caveats) screen.line("caution", caveat, base::kYellow);
  screen.rule();
  return screen.take();
}

}  // namespace anymps::lab::trace
