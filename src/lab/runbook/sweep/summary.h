// What a sweep comes to.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/document/figure.h"
#include "lab/runbook/sweep/document.h"

namespace anymps::lab::runbook::sweep {

// In one line; empty where nothing is recommended.
std::string sweep_headline(const SweepDocument& document);

std::vector<document::Figure> sweep_figures(const SweepDocument& document);

}  // namespace anymps::lab::runbook::sweep
