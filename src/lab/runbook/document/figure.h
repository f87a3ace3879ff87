// The figures of a logged run that can be held against those of another one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::logbook {

enum class FigureKind { kRate, kSeconds, kBytes, kOther };

struct RunFigure {
  std::string name;  // "samples_per_second"
  std::string at;    // what it was measured at, such as "batch 16, workers 2"; empty: the run as a whole
  FigureKind kind = FigureKind::kOther;
  double value = 0;
  std::optional<double> low;  // its spread, where that was measured
  std::optional<double> high;
};

// From the run's document, whichever verb wrote it, and from its facts.
std::vector<RunFigure> run_figures(const LoggedRun& run);

// "12.3 samples/s", "1.2 GiB", "35.0 ms".
std::string figure_text(FigureKind kind, double value);

// How a program calls the kind: "rate", "seconds", "bytes", "other".
std::string_view kind_text(FigureKind kind);
FigureKind kind_from(std::string_view text);

}  // namespace anymps::lab::runbook::logbook
