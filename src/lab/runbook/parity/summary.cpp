#include "lab/runbook/parity/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/html/chart.h"

namespace anymps::lab::runbook::parity {

std::string parity_headline(const ParityDocument& document) {
  std::string text;
  for (const Comparison& comparison : document.comparisons) {
    std::uint64_t ulps = 0;
    for (const auto* rows : {&comparison.layers, &comparison.gradients}) {
      for (const TensorDifference& row : *rows) {
        if (!row.random) ulps = std::max(ulps, row.max_ulps.value_or(0));
      }
    }
    text += fmt::format("{}{}: at most {} ulps", text.empty() ? "" : "; ", comparison.device,
                        html::value_text(static_cast<double>(ulps), html::Unit::kNumber));
  }
  return text;
}

std::vector<document::Figure> parity_figures(const ParityDocument& document) {
  std::vector<document::Figure> figures;
  for (const Comparison& comparison : document.comparisons) {
    if (comparison.steps.empty() || !comparison.steps.back().relative) continue;
    figures.push_back(
        {"loss_drift", comparison.device, document::FigureKind::kOther, *comparison.steps.back().relative, {}, {}});
  }
  return figures;
}

}  // namespace anymps::lab::runbook::parity
