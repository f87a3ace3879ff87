// Which of the circumstances that changed between two runs could have made one of them slower, and by how much at most.
#pragma once

#include <optional>
#include <vector>

#include "lab/runbook/log/document.h"

namespace anymps::lab::runbook::log {

// `speed_change` says which of the two is slower: what changed to that one's advantage is left out. Nothing: all that
// changed and has to do with speed.
std::vector<Explanation> explain(const RunWithSamples& before, const RunWithSamples& after,
                                 std::optional<double> speed_change);

}  // namespace anymps::lab::runbook::log
