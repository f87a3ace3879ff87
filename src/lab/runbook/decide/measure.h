// Measures what the decision asks for: the script on the CPU and on mps, its memory over epochs, its drift.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/decide/decide.h"
#include "lab/runbook/plateau/measure.h"
#include "lab/runbook/profile/profile.h"
#include "lab/runbook/trial/command_setting.h"

namespace anymps::lab::runbook::decide {

struct DecideRun {
  trial::CommandSetting device;  // "--device"
  DecideSettings thresholds;
  profile::ProfileSettings profile;
  plateau::PlateauSettings plateau;
  std::uint64_t drift_steps = 20;
  std::vector<std::string> mlx;  // a command that does the same in MLX and prints step_seconds=...; may be empty
};

DecideResult run_decide(trial::Session& session, const trial::TrialSettings& settings, const DecideRun& run);

}  // namespace anymps::lab::runbook::decide
