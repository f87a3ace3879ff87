// When to stop tuning: profiles of the logbook that disagree for no reason that tuning could mend.
#pragma once

#include <optional>
#include <vector>

#include "lab/runbook/decide/decide.h"
#include "lab/runbook/decide/document.h"
#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::decide {

// Two profiles of the same command, a week apart or more, that disagree although their loaders hold nothing back, by
// the same three operators; none where the rule does not end the tuning. `profiles`: newest first.
std::optional<StopRule> stop_rule(const std::vector<logbook::LoggedRun>& profiles, const DecideSettings& settings);

}  // namespace anymps::lab::runbook::decide
