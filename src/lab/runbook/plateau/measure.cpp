#include "lab/runbook/plateau/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lab/base/counted.h"
#include "lab/runbook/document/described.h"
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

// Without the sites.
MeasuredCurve measured_curve(trial::Session& session, const trial::TrialSettings& settings,
                             const PlateauSettings& plateau, const trial::TrialProgress& progress) {
  const trial::Trial trial = trial::run_trial(settings, spec_for(plateau, plateau.epochs, false), progress);
  const trial::RecordedProcess* main = trial.main();
  const std::vector<trial::RecordedEpoch> epochs = main != nullptr ? main->epochs : std::vector<trial::RecordedEpoch>();
  if (main != nullptr) {
    json facts = trial::facts_of(*main);
    facts["peak_bytes"] = trial.peak_bytes();
    facts["epoch_window"] = fmt::format("epochs 1 to {}", epochs.size());
    session.put_facts(facts);
  }
  return {.curve = judge_plateau(epochs, plateau.epochs, plateau.threshold),
          .simulated = main != nullptr && main->begin.value("simulated", false),
          .steps = main != nullptr ? main->steps.size() : 0,
          .failure = trial.failure()};
}

// So many steps to an epoch that a script which tells of none has as many epochs as were asked for; 0 where it takes
// too few steps, or the user has said it.
std::uint64_t steps_to_divide_by(const MeasuredCurve& measured, const PlateauSettings& plateau) {
  const bool is_open = measured.verdict() == document::Verdict::kUnknown;
  if (!is_open || plateau.epoch_steps > 0 || measured.steps < kFewestSteps) return 0;
  return std::max<std::uint64_t>(1, measured.steps / std::max<std::uint64_t>(1, plateau.epochs));
}

std::vector<GrowingSite> sites(const trial::TrialSettings& settings, const PlateauSettings& plateau,
                               const trial::TrialProgress& progress) {
  const std::uint64_t epochs = std::min(plateau.epochs, kSiteEpochs);
  const trial::Trial trial = trial::run_trial(settings, spec_for(plateau, epochs, true), progress);
  if (trial.main() == nullptr) return {};
  std::vector<GrowingSite> growing = growing_sites(trial.main()->sites);
  growing.resize(std::min(growing.size(), kSitesShown));
  return growing;
}

// A part of the logbook is JSON: here a curve, and a list of sites.
MeasuredCurve curve_part(trial::Session& session, const std::string& name,
                         const std::function<MeasuredCurve()>& measure) {
  return document::described_from<MeasuredCurve>(
      session.part(name, [&measure] { return document::to_json(measure()); }));
}

std::vector<GrowingSite> sites_part(trial::Session& session, const std::function<std::vector<GrowingSite>()>& find) {
  const json part = session.part("sites", [&find] {
    auto rows = json::array();
    for (const GrowingSite& site : find()) rows.push_back(document::to_json(site));
    return rows;
  });
  std::vector<GrowingSite> growing;
  for (const json& row : part) growing.push_back(document::described_from<GrowingSite>(row));
  return growing;
}

}  // namespace

PlateauDocument run_plateau(trial::Session& session, const trial::TrialSettings& settings,
                            const PlateauSettings& plateau, double from, double to) {
  const double half = (to - from) / 2;
  // The number of steps is not known before the end: the bar nears it without reaching it.
  const auto shown = [&](double begin, const char* what) {
    return [&session, begin, half, what](std::uint64_t steps) {
      const double share = static_cast<double>(steps) / static_cast<double>(steps + 100);
      session.progress().at(begin + half * share, fmt::format("{}, step {}", what, steps));
    };
  };
  MeasuredCurve measured = curve_part(
      session, "plateau", [&] { return measured_curve(session, settings, plateau, shown(from, "memory curve")); });
  PlateauSettings divided = plateau;
  if (const std::uint64_t each = steps_to_divide_by(measured, plateau); each > 0) {
    const std::size_t told = measured.curve.epochs.size();
    const std::uint64_t steps = measured.steps;
    divided.epoch_steps = each;
    measured = curve_part(session, "plateau by steps", [&] {
      return measured_curve(session, settings, divided, shown(from, "memory curve by steps"));
    });
    measured.curve.notes.push_back(
        fmt::format("the script told of {}, so its {} steps were divided into epochs of {}; --epoch-steps sets another "
                    "number",
                    told == 0 ? "no epochs" : base::counted(told, "epoch"), steps, each));
  }
  PlateauDocument document;
  document.head.verdict = measured.verdict();
  if (document.head.verdict == document::Verdict::kBad && plateau.sites && !measured.failure) {
    measured.curve.sites =
        sites_part(session, [&] { return sites(settings, divided, shown(from + half, "lines that keep tensors")); });
  }
  document.measured = std::move(measured);
  return document;
}

}  // namespace anymps::lab::runbook::plateau
