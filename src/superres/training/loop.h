// Training to its end: steps, lines of the log, checkpoints and validations when they are due, and what is said where
// memory does not do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

#include "superres/training/device_policy.h"
#include "superres/training/training.h"
#include "superres/training/training_log.h"

namespace anymps::superres::training {

struct LoopOptions {
  std::uint64_t log_every = 10;
  const std::atomic<bool>* stop = nullptr;                // looked at between two steps
  std::function<void(const StepReport&)> told = nullptr;  // after each step
};

nlohmann::json to_json(const Validation& validation);

// Until it is done, or `stop` is set; saves in either case. Returns the last validation. Throws std::runtime_error for
// a batch that memory is too small for, with the largest that fits; what was trained is saved before.
Validation train(Training& training, const TrainingOptions& settings, const DevicePolicy& policy, TrainingLog& log,
                 const LoopOptions& options);

}  // namespace anymps::superres::training
