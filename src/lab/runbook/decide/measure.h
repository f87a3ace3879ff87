// Measures what the decision asks for: the script on the CPU and on mps, its memory over epochs, its drift.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/runbook/command_setting.h"
#include "lab/runbook/decide.h"
#include "lab/runbook/plateau_run.h"
#include "lab/runbook/profile.h"

namespace anymps::lab {

struct DecideRun {
  CommandSetting device;  // "--device"
  DecideSettings thresholds;
  ProfileSettings profile;
  PlateauSettings plateau;
  std::uint64_t drift_steps = 20;
  std::vector<std::string> mlx;  // a command that does the same in MLX and prints step_seconds=...; may be empty
};

Decision run_decide(Session& session, const TrialSettings& settings, const DecideRun& run);

}  // namespace anymps::lab
