#include "lab/size_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/summary_screen.h"
#include "lab/text_wrap.h"

namespace anymps::lab {
namespace {

constexpr std::size_t kShareBarWidth = 20;

std::string share_bar(double share) {
  const auto filled = static_cast<std::size_t>(std::llround(std::clamp(share, 0.0, 1.0) * kShareBarWidth));
  std::string bar;
  for (std::size_t i = 0; i < kShareBarWidth; ++i) bar += i < filled ? "█" : "░";
  return bar;
}

std::string_view fit_colour(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "32";
    case Fit::kTooClose:
      return "33";
    default:
      return "31";
  }
}

std::string fit_row(const MacFit& fit, const SizeReport& report, bool colour) {
  const double share = fit.share();
  std::string verdict = fmt::format("{:<18}", fit_text(fit.fit));
  std::string bar = share_bar(share);
  if (colour) {
    verdict = fmt::format("\x1b[{}m{}\x1b[0m", fit_colour(fit.fit), verdict);
    bar = fmt::format("\x1b[{}m{}\x1b[0m", fit_colour(fit.fit), bar);
  }
  std::string row = fmt::format("{:<15}{}{:>6.0f} %  {}", fit.mac.name, bar, 100 * share, verdict);
  if (fit.step_seconds) row += fmt::format("{:>10}", human_seconds(*fit.step_seconds));
  if (report.batch) row += fmt::format("{:>10}", fit.largest_batch ? std::to_string(*fit.largest_batch) : "-");
  return row + "\n";
}

}  // namespace

std::string size_screen(const SizeReport& report, const Terminal& terminal) {
  const SizeFigures& figures = report.figures;
  std::string text = fmt::format("peak        {} in tensors and temporaries on the device, {} in tensors alone\n",
                                 human_bytes(figures.block_bytes), human_bytes(report.run.memory.tensor_bytes)) +
                     fmt::format("memory      {} in {} process{} (the device's memory included), {} in other apps\n",
                                 human_bytes(figures.resident_bytes), report.processes,
                                 report.processes == 1 ? "" : "es", human_bytes(figures.other_bytes)) +
                     fmt::format("swaps       where memory is below {}\n\n",
                                 human_bytes(figures.resident_bytes + figures.other_bytes));
  text += fmt::format("{:<15}{:<20}{:>8}  {:<18}", fmt::format("macOS {}", report.macos.text()), "need against limit",
                      "share", "verdict");
  if (figures.step_flops > 0 || figures.step_bytes > 0) text += fmt::format("{:>10}", "est. step");
  if (report.batch) text += fmt::format("{:>10}", "max batch");
  text += "\n";
  for (const MacFit& fit : report.macs) text += fit_row(fit, report, terminal.colour);
  text += "\n";
  for (const std::string& note : size_notes(report)) {
    text += wrapped(note, std::clamp<std::size_t>(terminal.width, 60, 110), "");
  }
  return text;
}

}  // namespace anymps::lab
