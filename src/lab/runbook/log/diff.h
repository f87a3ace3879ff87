// Two runs of the logbook held against each other: what changed, and what of that could explain their figures.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::logbook {

struct RunWithSamples {
  LoggedRun run;
  std::vector<nlohmann::json> samples;
};

// {"before", "after": {"run", "verb", "started", "verdict", "command"},
//  "changed": [{"name", "before", "after", "kind": "setting|circumstance|condition"}],
//  "figures": [{"name", "at", "kind", "before", "after", "change"}],   change: share of `before`
//  "speed_change": share or null,
//  "explanations": [{"name", "text", "up_to": share of the speed or null where there is no bound}],
//  "conclusion": text}
nlohmann::json log_diff(const RunWithSamples& before, const RunWithSamples& after);

}  // namespace anymps::lab::runbook::logbook
