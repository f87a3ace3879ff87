#include "lab/runbook/plateau/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/base/counted.h"
#include "lab/runbook/plateau/plateau.h"

namespace anymps::lab::runbook::plateau {
namespace {

using nlohmann::json;

// To see which lines grow, with the first epoch as what was there before.
constexpr std::uint64_t kSiteEpochs = 5;
constexpr std::size_t kSitesShown = 10;
// Of a script without epochs, to be divided into some.
constexpr std::uint64_t kFewestSteps = 6;

json spec_for(const PlateauSettings& plateau, std::uint64_t epochs, bool sites) {
  return {{"mode", "plateau"},
          {"epochs", epochs},
          {"epoch_steps", plateau.epoch_steps > 0 ? json(plateau.epoch_steps) : json()},
          {"sites", sites}};
}

// The document without its sites; "verdict" in it is for the part alone.
json measured_curve(trial::Session& session, const trial::TrialSettings& settings, const PlateauSettings& plateau,
                    const trial::TrialProgress& progress) {
  const trial::Trial trial = trial::run_trial(settings, spec_for(plateau, plateau.epochs, false), progress);
  const trial::RecordedProcess* main = trial.main();
  const std::vector<trial::RecordedEpoch> epochs = main != nullptr ? main->epochs : std::vector<trial::RecordedEpoch>();
  if (main != nullptr) {
    json facts = trial::facts_of(*main);
    facts["peak_bytes"] = trial.peak_bytes();
    facts["epoch_window"] = fmt::format("epochs 1 to {}", epochs.size());
    session.put_facts(facts);
  }
  Plateau judged = judge_plateau(epochs, plateau.epochs, plateau.threshold);
  json document = plateau_json(judged, epochs, plateau.threshold);
  document["simulated"] = main != nullptr && main->begin.value("simulated", false);
  if (trial.outcome != trial::Outcome::kRan) {
    document["failure"] = trial::failure_json(trial);
    judged.verdict = document::Verdict::kBad;
  }
  document["verdict"] = document::verdict_text(judged.verdict);
  document["steps"] = main != nullptr ? main->steps.size() : 0;
  return document;
}

// So many steps to an epoch that a script which tells of none has as many epochs as were asked for; 0 where it takes
// too few steps, or the user has said it.
std::uint64_t steps_to_divide_by(const json& document, const PlateauSettings& plateau) {
  const bool is_open = document.value("verdict", "") == document::verdict_text(document::Verdict::kUnknown);
  const auto steps = document.value("steps", std::uint64_t{0});
  if (!is_open || plateau.epoch_steps > 0 || document.contains("failure") || steps < kFewestSteps) return 0;
  return std::max<std::uint64_t>(1, steps / std::max<std::uint64_t>(1, plateau.epochs));
}

json sites(const trial::TrialSettings& settings, const PlateauSettings& plateau, const trial::TrialProgress& progress) {
  const std::uint64_t epochs = std::min(plateau.epochs, kSiteEpochs);
  const trial::Trial trial = trial::run_trial(settings, spec_for(plateau, epochs, true), progress);
  auto rows = json::array();
  if (trial.main() == nullptr) return rows;
  for (const GrowingSite& site : growing_sites(trial.main()->sites)) {
    if (rows.size() == kSitesShown) break;
    rows.push_back({{"site", site.site},
                    {"bytes_per_epoch", site.bytes_per_epoch},
                    {"count_per_epoch", site.count_per_epoch},
                    {"example", site.example}});
  }
  return rows;
}

}  // namespace

PlateauResult run_plateau(trial::Session& session, const trial::TrialSettings& settings, const PlateauSettings& plateau,
                          double from, double to) {
  const double half = (to - from) / 2;
  // The number of steps is not known before the end: the bar nears it without reaching it.
  const auto shown = [&](double begin, const char* what) {
    return [&session, begin, half, what](std::uint64_t steps) {
      const double share = static_cast<double>(steps) / static_cast<double>(steps + 100);
      session.progress().at(begin + half * share, fmt::format("{}, step {}", what, steps));
    };
  };
  PlateauResult result;
  result.document =
      session.part("plateau", [&] { return measured_curve(session, settings, plateau, shown(from, "memory curve")); });
  PlateauSettings divided = plateau;
  if (const std::uint64_t each = steps_to_divide_by(result.document, plateau); each > 0) {
    const auto told = result.document["epochs"].size();
    const auto steps = result.document.value("steps", std::uint64_t{0});
    divided.epoch_steps = each;
    result.document = session.part("plateau by steps", [&] {
      return measured_curve(session, settings, divided, shown(from, "memory curve by steps"));
    });
    result.document["notes"].push_back(
        fmt::format("the script told of {}, so its {} steps were divided into epochs of {}; --epoch-steps sets another "
                    "number",
                    told == 0 ? "no epochs" : base::counted(told, "epoch"), steps, each));
  }
  result.verdict = document::verdict_from(result.document.value("verdict", ""));
  if (result.verdict == document::Verdict::kBad && plateau.sites && !result.document.contains("failure")) {
    result.document["sites"] =
        session.part("sites", [&] { return sites(settings, divided, shown(from + half, "lines that keep tensors")); });
  }
  return result;
}

}  // namespace anymps::lab::runbook::plateau
