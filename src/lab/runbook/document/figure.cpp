#include "lab/runbook/document/figure.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "lab/base/units.h"

namespace anymps::lab::runbook::document {

std::string figure_text(FigureKind kind, double value) {
  switch (kind) {
    case FigureKind::kRate:
      return fmt::format("{:.4g} samples/s", value);
    case FigureKind::kSeconds:
      return base::human_seconds(value);
    case FigureKind::kBytes:
      return (value < 0 ? "-" : "") + base::human_bytes(static_cast<std::uint64_t>(std::abs(value)));
    default:
      return fmt::format("{:.4g}", value);
  }
}

}  // namespace anymps::lab::runbook::document
