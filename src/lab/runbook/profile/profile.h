// Where the time of a training step goes, from four trials of the same command: the whole of it, with every operator
// traced, with nothing but loading, and with nothing but the model's call on one fixed batch.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/verdict.h"
#include "lab/runbook/profile/document.h"
#include "lab/runbook/profile/parts.h"
#include "lab/runbook/trial/session.h"
#include "lab/runbook/trial/trial.h"

namespace anymps::lab::runbook::profile {

struct ProfileSettings {
  std::uint64_t warm_up = 5;
  std::uint64_t steps = 50;
  double seconds = 120;         // of a window, at most
  double input_limit = 0.3;     // the share of a step that waiting for input may take
  double fallback_limit = 0.1;  // ... and operators on the CPU
  double waits_limit = 0.5;     // waits for the device a step
  std::map<std::string, std::vector<std::string>> stage_names;
  std::optional<std::uint64_t> bisect_workers;  // up to so many

  nlohmann::json key() const;
};

struct ProfileResult {
  document::Verdict verdict = document::Verdict::kUnknown;
  Profile profile;
};

ProfileResult run_profile(trial::Session& session, const trial::TrialSettings& settings, const ProfileSettings& profile,
                          double from, double to);

// Those that were not run are empty.
struct ProfileParts {
  FullPart full;
  OperatorsPart operators;
  LoadingPart data;
  StagesPart stages;
  ForwardPart forward;
  std::vector<WorkersRow> workers;
};

// What the parts say together: shares, the story, and the verdict. Pure.
ProfileResult judge_profile(const ProfileParts& parts, const ProfileSettings& profile);

// What one trial of the whole script tells, traced or not.
FullPart full_part(const trial::Trial& trial, const ProfileSettings& profile);
OperatorsPart operators_part(const trial::Trial& trial, const ProfileSettings& profile);
LoadingPart data_part(const trial::Trial& trial);
StagesPart stages_part(const trial::Trial& trial);
ForwardPart forward_part(const trial::Trial& trial);

}  // namespace anymps::lab::runbook::profile
