#include "lab/runbook/plateau/screen.h"

#include <fmt/format.h>

#include <vector>

#include "lab/base/counted.h"
#include "lab/runbook/screen/parts.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::plateau {
namespace {

// Columns of the tables that a narrow terminal does without.
constexpr std::size_t kEpochSteps = 1;
constexpr std::size_t kBeforeFlush = 3;
constexpr std::size_t kTensorCount = 2;
constexpr std::size_t kExample = 3;

std::string bytes_text(std::uint64_t bytes) { return screen::bytes_text(static_cast<double>(bytes)); }

std::string epochs_text(const MemoryCurve& curve, const base::Terminal& terminal) {
  if (curve.epochs.empty()) return {};
  std::string text = fmt::format("  {} rise over {}, where {} are allowed\n", screen::percent_text(curve.rise_share),
                                 base::counted(curve.epochs.size(), "epoch"), screen::percent_text(curve.threshold));
  if (curve.slope) {
    text += fmt::format("  {} an epoch ({} to {}, 95%)\n\n", screen::bytes_text(curve.slope->bytes_per_epoch),
                        screen::bytes_text(curve.slope->low), screen::bytes_text(curve.slope->high));
  }
  std::vector<std::vector<std::string>> rows = {
      {"epoch", "steps", "time", "before flush", "after", "driver", "resident"}};
  for (const Epoch& epoch : curve.epochs) {
    rows.push_back({std::to_string(epoch.index), std::to_string(epoch.steps), screen::seconds_text(epoch.seconds),
                    bytes_text(epoch.tensor_bytes), bytes_text(epoch.flushed_bytes), bytes_text(epoch.driver_bytes),
                    bytes_text(epoch.resident_bytes)});
  }
  return text + screen::columns(rows, terminal, {kEpochSteps, kBeforeFlush});
}

std::string sites_text(const MemoryCurve& curve, const base::Terminal& terminal) {
  if (curve.sites.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"line", "an epoch", "tensors", "such as"}};
  for (const GrowingSite& site : curve.sites) {
    rows.push_back({trace::SourceSite::parse(site.site).text(), screen::bytes_text(site.bytes_per_epoch),
                    screen::number_text(site.count_per_epoch), site.example});
  }
  return "\n  lines that keep tensors\n" + screen::columns(rows, terminal, {kTensorCount, kExample});
}

}  // namespace

std::string plateau_screen(const PlateauDocument& document, const base::Terminal& terminal) {
  const MemoryCurve& curve = document.measured.curve;
  return screen::verdict_line(document.head.verdict, "memory plateau", terminal) +
         screen::failure_text(document.measured.failure, terminal) + epochs_text(curve, terminal) +
         sites_text(curve, terminal) + screen::notes_text(curve.notes, terminal);
}

}  // namespace anymps::lab::runbook::plateau
