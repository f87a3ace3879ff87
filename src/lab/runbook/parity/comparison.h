// The runs of two devices held against each other: layers, gradients, losses, and the dtypes of each kind of layer.
#pragma once

#include <vector>

#include "lab/runbook/parity/document.h"
#include "lab/runbook/parity/ulps.h"
#include "lab/runbook/parity/values.h"

namespace anymps::lab::runbook::parity {

struct ParityLimits {
  // Of a tensor's largest element. A dtype of little precision is given eight of its own steps where that is more.
  double max_relative = 1e-3;
  double drift = 1e-2;  // of the loss at the last step

  double relative_for(ElementKind kind) const;
};

// Without what became of the other's script: only runs that ran are held against each other.
//
// Dropout draws other masks on another device. Where the outputs of a dropout layer differ, it and all after it, the
// gradients and the losses are `random`: shown and not judged.
Comparison compare_runs(const KeptRun& reference, const KeptRun& other, const ParityLimits& limits);

// A row a kind of layer.
std::vector<LayerDtypes> dtype_policy(const std::vector<KeptRun>& runs);

}  // namespace anymps::lab::runbook::parity
