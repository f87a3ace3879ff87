// What differs between the environment that a bundle was made in and another one.
#pragma once

#include <vector>

#include "lab/runbook/handoff/data_manifest.h"
#include "lab/runbook/handoff/difference.h"
#include "lab/runbook/handoff/environment.h"

namespace anymps::lab::runbook::handoff {

// `there` is the bundle's. Red is what changes results or speed, yellow what may.
std::vector<Difference> environment_differences(const Environment& here, const Environment& there);

std::vector<Difference> data_differences(const DataManifest& here, const DataManifest& there);

// Whether one of them is red.
bool has_red(const std::vector<Difference>& differences);

}  // namespace anymps::lab::runbook::handoff
