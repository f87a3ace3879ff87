#include "lab/size/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::size {
namespace {

constexpr std::size_t kWidestBar = 20;
constexpr std::size_t kNarrowestBar = 6;

std::string share_bar(double share, std::size_t width) {
  const auto filled = static_cast<std::size_t>(std::llround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
  return bar;
}

bool has_steps(const SizeReport& report) { return report.figures.step_flops > 0 || report.figures.step_bytes > 0; }

// What the other columns leave of the terminal; none where that is too little to see anything.
std::size_t bar_width(const SizeReport& report, const base::Terminal& terminal) {
  const std::size_t others = 13 + 8 + 2 + 17 + (has_steps(report) ? 10 : 0) + (report.batch ? 10 : 0);
  const std::size_t left = terminal.width - std::min(terminal.width, others);
  return left < kNarrowestBar ? 0 : std::min(left, kWidestBar);
}

std::string_view fit_colour(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return base::kGreen;
    case Fit::kTooClose:
      return base::kYellow;
    default:
      return base::kRed;
  }
}

std::string fit_row(const MacFit& fit, const SizeReport& report, std::size_t bar_columns,
                    const base::Terminal& terminal) {
  const double share = fit.share();
  const std::string verdict = terminal.paint(fit_colour(fit.fit), fmt::format("{:<17}", fit_text(fit.fit)));
  const std::string bar = terminal.paint(fit_colour(fit.fit), share_bar(share, bar_columns));
  std::string row = fmt::format("{:<13}{}{:>7.0f}%  {}", fit.mac.name, bar, 100 * share, verdict);
  if (fit.step_seconds) row += fmt::format("{:>10}", base::human_seconds(*fit.step_seconds));
  if (report.batch) row += fmt::format("{:>10}", fit.largest_batch ? std::to_string(*fit.largest_batch) : "-");
  return row + "\n";
}

// Whose MPS backend the run met.
std::string release_of(const trace::RunSummary& run) {
  for (const char* key : {"as torch", "torch"}) {
    if (const auto found = run.facts.find(key); found != run.facts.end()) return found->second;
  }
  return "?";
}

}  // namespace

std::string size_screen(const SizeReport& report, const base::Terminal& terminal) {
  const SizeFigures& figures = report.figures;
  const std::size_t width = std::clamp<std::size_t>(terminal.width, 40, 110);
  const auto line = [&](const char* label, const std::string& said) {
    return fmt::format("{:<12}", label) + base::wrapped(said, width, "            ");
  };
  std::string text =
      line("peak",
           fmt::format("{} in tensors and temporaries on the device, {} in tensors alone",
                       base::human_bytes(figures.block_bytes), base::human_bytes(report.run.memory.tensor_bytes))) +
      line("heaps", fmt::format("{} by the rules of PyTorch {}; near a limit they give their cache back",
                                base::human_bytes(report.run.memory.driver_bytes), release_of(report.run))) +
      line("memory", fmt::format("{} in {} process{} (the device's memory included), {} in other apps",
                                 base::human_bytes(figures.resident_bytes), report.processes,
                                 report.processes == 1 ? "" : "es", base::human_bytes(figures.other_bytes))) +
      line("swaps",
           fmt::format("where memory is below {}", base::human_bytes(figures.resident_bytes + figures.other_bytes))) +
      "\n";
  const std::size_t bar = bar_width(report, terminal);
  text += fmt::format("{:<13}{:<{}}{:>8}  {:<17}", fmt::format("macOS {}", report.macos.text()),
                      bar == kWidestBar ? "need against limit" : "", bar, "share", "verdict");
  if (has_steps(report)) text += fmt::format("{:>10}", "est. step");
  if (report.batch) text += fmt::format("{:>10}", "max batch");
  text += "\n";
  for (const MacFit& fit : report.macs) text += fit_row(fit, report, bar, terminal);
  text += "\n";
  for (const std::string& note : size_notes(report)) {
    text += base::wrapped(note, width, "");
  }
  return text;
}

}  // namespace anymps::lab::size
