// The sweep of a command: each batch size is a trial of its own, and once measured a part of the logbook.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/document/verdict.h"
#include "lab/runbook/sweep/document.h"
#include "lab/runbook/sweep/sweep.h"
#include "lab/runbook/trial/session.h"
#include "lab/runbook/trial/trial.h"

namespace anymps::lab::runbook::sweep {

struct SweepRun {
  trial::TrialSettings trial;
  SweepSettings sweep;
  std::string batch;              // the command's option for the batch size, or a variable
  std::vector<std::string> axes;  // each as trial::CommandAxis::parse() reads it
};

struct SweepResult {
  document::Verdict verdict = document::Verdict::kUnknown;
  SweepDocument document;  // but for its head
};

// Throws std::invalid_argument for an axis that is none, and std::runtime_error for a script that takes no step.
SweepResult measure_sweep(trial::Session& session, const SweepRun& run);

}  // namespace anymps::lab::runbook::sweep
