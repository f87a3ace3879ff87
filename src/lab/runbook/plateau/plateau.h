// The memory plateau: whether what is left after each epoch's flush keeps growing, by how much, and who made it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/verdict.h"
#include "lab/runbook/trial/recording.h"

namespace anymps::lab::runbook::plateau {

struct Slope {
  double each = 0;  // bytes an epoch, by least squares
  double low = 0;   // 95% confidence
  double high = 0;
};

// Of at least three values.
Slope slope_of(std::span<const double> values);

struct GrowingSite {
  std::string site;
  double bytes_per_epoch = 0;
  double count_per_epoch = 0;
  std::string example;
};

// The lines whose tensors grew in every epoch that was watched, most bytes first.
std::vector<GrowingSite> growing_sites(const std::vector<nlohmann::json>& sites);

struct Plateau {
  document::Verdict verdict = document::Verdict::kUnknown;
  std::string measure;  // "tensors", or "resident" where the training is on the CPU
  Slope slope;
  double rise_share = 0;  // from the first epoch to the last, carried on to as many epochs as were asked for
  bool grows = true;      // not where it falls by as much as half of that, with a slope that may be 0
  std::vector<std::string> notes;
};

// Bad is what grows, and rises beyond the threshold. `asked`: the epochs that the rule speaks of; a script that ended
// before is judged by its pace.
Plateau judge_plateau(const std::vector<trial::RecordedEpoch>& epochs, std::uint64_t asked, double threshold);

// The fields of the document.
nlohmann::json plateau_json(const Plateau& plateau, const std::vector<trial::RecordedEpoch>& epochs, double threshold);

}  // namespace anymps::lab::runbook::plateau
