// The split decision: CPU, MPS, MLX or a remote machine, from what was measured, by thresholds that can be set.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/decide/document.h"
#include "lab/runbook/document/verdict.h"
#include "lab/runbook/plateau/document.h"
#include "lab/runbook/profile/document.h"

namespace anymps::lab::runbook::decide {

struct DecideSettings {
  double least_gain = 0.22;         // of a step's time against the CPU, below which MPS is not worth its tax ...
  double least_utilisation = 0.18;  // ... where the device is busy for less than this
  double memory_rise = 0.26;        // over ten epochs
  double drift = 0.01;              // relative, of the loss at the last step
  double slow_operator = 0.4;       // share of the device's time that one operator may take
  double week = 7;                  // days between two profiles for the stop rule

  nlohmann::json key() const;
};

// What was found out; what could not be is absent.
struct Measured {
  std::optional<double> cpu_step_seconds;
  std::optional<double> mps_step_seconds;
  std::optional<double> mlx_step_seconds;
  std::optional<double> remote_step_seconds;
  std::optional<double> utilisation;
  std::optional<double> memory_rise;
  bool memory_grows = true;  // not where it goes up and down, whatever its two ends are
  std::optional<double> drift;
  bool simulated = false;
  bool ran_out_of_memory = false;
  bool processes_failed = false;  // hung or crashed with loader workers
  double slowdown = 0;            // of the last epochs against the first ones
  profile::Profile profile;
  std::vector<plateau::GrowingSite> sites;

  // Of the CPU's time for a step that the device saves: 0.5 is half, -1 is twice as long. Not known of a simulated
  // device.
  std::optional<double> gain() const;
};

struct DecideResult {
  document::Verdict verdict = document::Verdict::kUnknown;  // good: MPS as it is
  DecideDocument document;                                  // but for its head
};

// Its document has the profile, and no evidence and notes yet.
DecideResult decide(const Measured& measured, const DecideSettings& settings);

// The six rows of the runbook's tables, with what applies.
std::vector<Symptom> symptoms(const Measured& measured, const DecideSettings& settings);

}  // namespace anymps::lab::runbook::decide
