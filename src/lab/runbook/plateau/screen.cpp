#include "lab/runbook/plateau/screen.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/base/counted.h"
#include "lab/runbook/screen/parts.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::plateau {

using nlohmann::json;

namespace {

// Columns of the tables that a narrow terminal does without.
constexpr std::size_t kEpochSteps = 1;
constexpr std::size_t kBeforeFlush = 3;
constexpr std::size_t kTensorCount = 2;
constexpr std::size_t kExample = 3;

}  // namespace

std::string plateau_screen(const json& document, const base::Terminal& terminal) {
  const json epochs = document.value("epochs", json::array());
  std::string text = screen::verdict_line(document, "memory plateau", terminal);
  text += screen::failure_text(document.value("failure", json()), terminal);
  if (!epochs.empty()) {
    text += fmt::format("  {} rise over {}, where {} are allowed\n", screen::percent_at(document, "rise_share"),
                        base::counted(epochs.size(), "epoch"), screen::percent_at(document, "threshold"));
    const json slope = document.value("slope", json::object());
    text += fmt::format("  {} an epoch ({} to {}, 95%)\n\n", screen::bytes_at(slope, "bytes_per_epoch"),
                        screen::bytes_at(slope, "low"), screen::bytes_at(slope, "high"));
    std::vector<std::vector<std::string>> rows = {
        {"epoch", "steps", "time", "before flush", "after", "driver", "resident"}};
    for (const json& epoch : epochs) {
      rows.push_back({screen::number_at(epoch, "index", 0), screen::number_at(epoch, "steps", 0),
                      screen::seconds_at(epoch, "seconds"), screen::bytes_at(epoch, "tensor_bytes"),
                      screen::bytes_at(epoch, "flushed_bytes"), screen::bytes_at(epoch, "driver_bytes"),
                      screen::bytes_at(epoch, "resident_bytes")});
    }
    text += screen::columns(rows, terminal, {kEpochSteps, kBeforeFlush});
  }
  if (const json sites = document.value("sites", json::array()); !sites.empty()) {
    text += "\n  lines that keep tensors\n";
    std::vector<std::vector<std::string>> rows = {{"line", "an epoch", "tensors", "such as"}};
    for (const json& site : sites) {
      rows.push_back({trace::SourceSite::parse(site.value("site", "")).text(),
                      screen::bytes_at(site, "bytes_per_epoch"), screen::number_at(site, "count_per_epoch"),
                      site.value("example", "")});
    }
    text += screen::columns(rows, terminal, {kTensorCount, kExample});
  }
  return text + screen::notes_of(document, terminal);
}

}  // namespace anymps::lab::runbook::plateau
