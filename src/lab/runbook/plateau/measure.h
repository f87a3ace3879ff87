// The plateau test on a command: one trial for the curve, and where it rises another for who is behind it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "lab/runbook/session.h"
#include "lab/runbook/trial.h"
#include "lab/runbook/verdict.h"

namespace anymps::lab {

struct PlateauSettings {
  std::uint64_t epochs = 10;
  std::uint64_t epoch_steps = 0;  // 0: as the script has them
  double threshold = 0.26;
  bool sites = true;

  nlohmann::json key() const { return {epochs, epoch_steps, threshold, sites}; }
};

struct PlateauResult {
  Verdict verdict = Verdict::kUnknown;
  nlohmann::json document;
};

// Shows its progress from share `from` to `to` of the command's whole.
PlateauResult run_plateau(Session& session, const TrialSettings& settings, const PlateauSettings& plateau, double from,
                          double to);

}  // namespace anymps::lab
