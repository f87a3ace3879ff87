// The memory plateau: whether what is left after each epoch's flush keeps growing, by how much, and who made it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "lab/runbook/plateau/document.h"
#include "lab/runbook/trial/recording.h"

namespace anymps::lab::runbook::plateau {

// Of at least two values.
Slope slope_of(std::span<const double> values);

// The lines whose tensors grew in every epoch that was watched, most bytes first.
std::vector<GrowingSite> growing_sites(const std::vector<nlohmann::json>& sites);

// `asked`: the epochs that the rule speaks of; a script that ended before is judged by its pace.
MemoryCurve judge_plateau(const std::vector<trial::RecordedEpoch>& epochs, std::uint64_t asked, double threshold);

}  // namespace anymps::lab::runbook::plateau
