#include "lab/runbook/plateau/summary.h"

#include <fmt/format.h>

namespace anymps::lab::runbook::plateau {

using document::FigureKind;

std::string plateau_headline(const PlateauDocument& document) {
  const MemoryCurve& curve = document.measured.curve;
  return curve.rise_share ? fmt::format("{:+.1f}% over {} epochs", 100 * *curve.rise_share, curve.epochs.size()) : "";
}

std::vector<document::Figure> plateau_figures(const PlateauDocument& document) {
  const MemoryCurve& curve = document.measured.curve;
  std::vector<document::Figure> figures;
  if (const auto& slope = curve.slope) {
    figures.push_back({"bytes_per_epoch", "", FigureKind::kBytes, slope->bytes_per_epoch, slope->low, slope->high});
  }
  if (curve.rise_share) figures.push_back({"rise_share", "", FigureKind::kOther, *curve.rise_share, {}, {}});
  // The steps of the first epoch include what is done once.
  double seconds = 0;
  std::uint64_t steps = 0;
  for (const Epoch& epoch : curve.epochs) {
    if (epoch.index < 1) continue;
    seconds += epoch.seconds;
    steps += epoch.steps;
  }
  if (steps > 0) {
    figures.push_back({"step_seconds", "", FigureKind::kSeconds, seconds / static_cast<double>(steps), {}, {}});
  }
  return figures;
}

}  // namespace anymps::lab::runbook::plateau
