// anymps parity: the same script with the same seed on two or more devices, each in a child of its own, and what came
// out held against each other.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/parity/comparison.h"
#include "lab/runbook/trial/command_setting.h"
#include "lab/runbook/trial/session.h"
#include "lab/runbook/trial/trial.h"

namespace anymps::lab::runbook::parity {

struct ParityOptions {
  trial::TrialSettings trial;        // the command as the user has it, whichever device that names
  trial::CommandSetting device;      // that says where to run
  std::vector<std::string> devices;  // the reference first; none: cpu, mps, and cuda where there is one
  std::int64_t seed = 0;
  std::optional<std::uint64_t> steps;  // none: as many as the drift needs, or all where a metric is asked for
  bool no_dropout = false;
  ParityLimits limits;
  std::string metric;  // a name that the script prints a number behind; empty: none
  double tolerance = 0;
  std::string table;  // of reviewed differences; empty: none
  bool update = false;
  double slack = 2;
  std::string genuine;  // a folder with the Metal libraries of PyTorch's macOS wheel; empty: none
};

// What makes two calls the same work.
nlohmann::json to_json(const ParityOptions& options);

// Runs what the session has not yet, compares, and finishes the session. Returns the document.
//
// Good: all devices ran, and nothing differs beyond the limits. Bad: something does, or a device did not run that the
// reference ran on. Unknown: the reference did not run, or a device was not used.
nlohmann::json parity(trial::Session& session, const ParityOptions& options);

}  // namespace anymps::lab::runbook::parity
