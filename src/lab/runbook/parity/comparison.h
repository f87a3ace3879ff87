// The runs of two devices held against each other: layers, gradients, losses, and the dtypes of each kind of layer.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "lab/runbook/parity/ulps.h"
#include "lab/runbook/parity/values.h"

namespace anymps::lab::runbook::parity {

struct ParityLimits {
  // Of a tensor's largest element. A dtype of little precision is given eight of its own steps where that is more.
  double max_relative = 1e-3;
  double drift = 1e-2;  // of the loss at the last step

  double relative_for(ElementKind kind) const;
};

// "device", "layers", "gradients", "steps", "drift", "random_from" (the layer from which on dropout has its say, or
// null) and "findings": sentences, each of which makes the verdict bad.
//
// Dropout draws other masks on another device. Where the outputs of a dropout layer differ, it and all after it, the
// gradients and the losses are `random`: shown and not judged.
nlohmann::json compare_runs(const KeptRun& reference, const KeptRun& other, const ParityLimits& limits);

// A row a kind of layer: "kind", "weight", "output", "statistics", "gradient", "disagree". Where the devices disagree,
// the texts name them.
nlohmann::json dtype_policy(const std::vector<KeptRun>& runs);

}  // namespace anymps::lab::runbook::parity
