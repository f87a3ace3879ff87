// The plateau test on a command: one trial for the curve, and where it rises another for who is behind it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "lab/runbook/plateau/document.h"
#include "lab/runbook/trial/session.h"
#include "lab/runbook/trial/trial.h"

namespace anymps::lab::runbook::plateau {

struct PlateauSettings {
  std::uint64_t epochs = 10;
  std::uint64_t epoch_steps = 0;  // 0: as the script has them
  double threshold = kUsualThreshold;
  bool sites = true;

  nlohmann::json key() const { return {epochs, epoch_steps, threshold, sites}; }
};

// The document but for its head. Shows its progress from share `from` to `to` of the command's whole.
PlateauDocument run_plateau(trial::Session& session, const trial::TrialSettings& settings,
                            const PlateauSettings& plateau, double from, double to);

}  // namespace anymps::lab::runbook::plateau
