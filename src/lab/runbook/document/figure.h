// A figure of a run that can be held against the same figure of another one.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "lab/runbook/document/enum_words.h"

namespace anymps::lab::runbook::document {

enum class FigureKind { kRate, kSeconds, kBytes, kOther };

constexpr EnumWord<FigureKind> kFigureKindWords[] = {{FigureKind::kRate, "rate"},
                                                     {FigureKind::kSeconds, "seconds"},
                                                     {FigureKind::kBytes, "bytes"},
                                                     {FigureKind::kOther, "other"}};
constexpr std::span<const EnumWord<FigureKind>> words_of(FigureKind /*value*/) { return kFigureKindWords; }

struct Figure {
  std::string name;  // "samples_per_second"
  std::string at;    // what it was measured at, such as "batch 16, workers 2"; empty: the run as a whole
  FigureKind kind = FigureKind::kOther;
  double value = 0;
  std::optional<double> low;  // its spread, where that was measured
  std::optional<double> high;

  // As `anymps log` shows it, without its spread.
  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("at", self.at);
    fields("kind", self.kind);
    fields("value", self.value);
  }
};

// "12.3 samples/s", "1.2 GiB", "35.0 ms".
std::string figure_text(FigureKind kind, double value);

}  // namespace anymps::lab::runbook::document
