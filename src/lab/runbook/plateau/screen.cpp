#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/counted.h"
#include "lab/runbook/lab_screen.h"
#include "lab/runbook/screen_parts.h"
#include "lab/source_site.h"

namespace anymps::lab {

using nlohmann::json;

namespace {

// Columns of the tables that a narrow terminal does without.
constexpr std::size_t kEpochSteps = 1;
constexpr std::size_t kBeforeFlush = 3;
constexpr std::size_t kTensorCount = 2;
constexpr std::size_t kExample = 3;

}  // namespace

std::string plateau_screen(const json& document, const Terminal& terminal) {
  const json epochs = document.value("epochs", json::array());
  std::string text = verdict_line(document, "memory plateau", terminal);
  text += failure_text(document.value("failure", json()), terminal);
  if (!epochs.empty()) {
    text += fmt::format("  {} rise over {}, where {} are allowed\n", percent_at(document, "rise_share"),
                        counted(epochs.size(), "epoch"), percent_at(document, "threshold"));
    const json slope = document.value("slope", json::object());
    text += fmt::format("  {} an epoch ({} to {}, 95%)\n\n", bytes_at(slope, "bytes_per_epoch"), bytes_at(slope, "low"),
                        bytes_at(slope, "high"));
    std::vector<std::vector<std::string>> rows = {
        {"epoch", "steps", "time", "before flush", "after", "driver", "resident"}};
    for (const json& epoch : epochs) {
      rows.push_back({number_at(epoch, "index", 0), number_at(epoch, "steps", 0), seconds_at(epoch, "seconds"),
                      bytes_at(epoch, "tensor_bytes"), bytes_at(epoch, "flushed_bytes"),
                      bytes_at(epoch, "driver_bytes"), bytes_at(epoch, "resident_bytes")});
    }
    text += columns(rows, terminal, {kEpochSteps, kBeforeFlush});
  }
  if (const json sites = document.value("sites", json::array()); !sites.empty()) {
    text += "\n  lines that keep tensors\n";
    std::vector<std::vector<std::string>> rows = {{"line", "an epoch", "tensors", "such as"}};
    for (const json& site : sites) {
      rows.push_back({SourceSite::parse(site.value("site", "")).text(), bytes_at(site, "bytes_per_epoch"),
                      number_at(site, "count_per_epoch"), site.value("example", "")});
    }
    text += columns(rows, terminal, {kTensorCount, kExample});
  }
  return text + notes_of(document, terminal);
}

}  // namespace anymps::lab
