// Which of the circumstances that changed between two runs could have made one of them slower, and by how much at most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/logbook/diff.h"

namespace anymps::lab::runbook::logbook {

struct Explanation {
  std::string name;
  std::string text;
  std::optional<double> up_to;  // share of the faster run's speed that it can take; nothing: no bound is known
};

// `speed_change` says which of the two is slower: what changed to that one's advantage is left out. Nothing: all that
// changed and has to do with speed.
std::vector<Explanation> explain(const RunWithSamples& before, const RunWithSamples& after,
                                 std::optional<double> speed_change);

}  // namespace anymps::lab::runbook::logbook
