#include "lab/runbook/logbook/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/base/units.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::logbook {
namespace {

using nlohmann::json;

class Figures {
 public:
  void add(std::string name, std::string place, FigureKind kind, const json& object, const char* key) {
    if (const auto value = document::number_in(object, key)) {
      all_.push_back({std::move(name), std::move(place), kind, *value, std::nullopt, std::nullopt});
    }
  }
  void spread(const json& object, const char* low, const char* high) {
    if (all_.empty()) return;
    all_.back().low = document::number_in(object, low);
    all_.back().high = document::number_in(object, high);
  }
  std::vector<RunFigure> take() { return std::move(all_); }

 private:
  std::vector<RunFigure> all_;
};

// "workers 2, checkpointing true".
std::string axes_text(const json& axes) {
  std::string text;
  if (!axes.is_object()) return text;
  for (const auto& [name, value] : axes.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.dump());
  return text;
}

void add_sweep(Figures& figures, const json& document) {
  for (const json& series : document::member(document, "series")) {
    const std::string axes = axes_text(document::member(series, "axes"));
    for (const json& point : document::member(series, "points")) {
      if (document::member(point, "outcome") != "ran") continue;
      const std::string place =
          fmt::format("batch {}{}{}", document::member(point, "batch").dump(), axes.empty() ? "" : ", ", axes);
      if (document::number_in(point, "samples_per_second")) {
        figures.add("samples_per_second", place, FigureKind::kRate, point, "samples_per_second");
        figures.spread(point, "samples_low", "samples_high");
      }
      figures.add("step_seconds", place, FigureKind::kSeconds, point, "step_seconds");
      figures.add("peak_bytes", place, FigureKind::kBytes, point, "peak_bytes");
    }
    figures.add("knee_batch", axes, FigureKind::kOther, document::member(series, "knee"), "batch");
    figures.add("recommended_batch", axes, FigureKind::kOther, document::member(series, "recommended"), "batch");
  }
}

void add_plateau(Figures& figures, const json& document) {
  figures.add("bytes_per_epoch", "", FigureKind::kBytes, document::member(document, "slope"), "bytes_per_epoch");
  figures.spread(document::member(document, "slope"), "low", "high");
  figures.add("rise_share", "", FigureKind::kOther, document, "rise_share");
  // The steps of the first epoch include what is done once.
  double seconds = 0;
  double steps = 0;
  for (const json& epoch : document::member(document, "epochs")) {
    if (document::number_in(epoch, "index").value_or(0) < 1) continue;
    seconds += document::number_in(epoch, "seconds").value_or(0);
    steps += document::number_in(epoch, "steps").value_or(0);
  }
  if (steps > 0) figures.add("step_seconds", "", FigureKind::kSeconds, {{"step", seconds / steps}}, "step");
}

void add_profile(Figures& figures, const json& document) {
  const json& full = document::member(document, "full");
  figures.add("step_seconds", "", FigureKind::kSeconds, full, "step_seconds");
  figures.add("batch_seconds", "data only", FigureKind::kSeconds, document::member(document, "data"), "batch_seconds");
  figures.add("forward_seconds", "forward only", FigureKind::kSeconds, document::member(document, "forward"),
              "seconds");
  if (document::member(full, "shares").is_object()) {
    for (const auto& [name, share] : document::member(full, "shares").items()) {
      figures.add(name + "_share", "", FigureKind::kOther, document::member(full, "shares"), name.c_str());
    }
  }
}

void add_decide(Figures& figures, const json& document) {
  for (const json& candidate : document::member(document, "candidates")) {
    figures.add("step_seconds", document::string_in(candidate, "name"), FigureKind::kSeconds, candidate,
                "step_seconds");
  }
}

void add_parity(Figures& figures, const json& document) {
  for (const json& comparison : document::member(document, "comparisons")) {
    const json& steps = document::member(comparison, "steps");
    if (!steps.is_array() || steps.empty()) continue;
    figures.add("loss_drift", document::string_in(comparison, "device"), FigureKind::kOther, steps.back(), "relative");
  }
}

}  // namespace

std::vector<RunFigure> run_figures(const LoggedRun& run) {
  Figures figures;
  const json& document = run.document;
  if (run.verb == "sweep") add_sweep(figures, document);
  if (run.verb == "plateau") add_plateau(figures, document);
  if (run.verb == "profile") add_profile(figures, document);
  if (run.verb == "decide") add_decide(figures, document);
  if (run.verb == "parity") add_parity(figures, document);
  figures.add("samples_per_second", "", FigureKind::kRate, document, "samples_per_second");
  figures.add("step_seconds", "", FigureKind::kSeconds, document, "step_seconds");
  figures.add("peak_bytes", "", FigureKind::kBytes, run.facts, "peak_bytes");
  return figures.take();
}

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

std::string_view kind_text(FigureKind kind) {
  switch (kind) {
    case FigureKind::kRate:
      return "rate";
    case FigureKind::kSeconds:
      return "seconds";
    case FigureKind::kBytes:
      return "bytes";
    default:
      return "other";
  }
}

FigureKind kind_from(std::string_view text) {
  for (const FigureKind kind : {FigureKind::kRate, FigureKind::kSeconds, FigureKind::kBytes}) {
    if (text == kind_text(kind)) return kind;
  }
  return FigureKind::kOther;
}

}  // namespace anymps::lab::runbook::logbook
