#include "lab/runbook/verbs/verbs.h"

#include <algorithm>

#include "lab/runbook/decide/screen.h"
#include "lab/runbook/decide/section.h"
#include "lab/runbook/decide/summary.h"
#include "lab/runbook/doctor/screen.h"
#include "lab/runbook/doctor/section.h"
#include "lab/runbook/doctor/summary.h"
#include "lab/runbook/handoff/screen.h"
#include "lab/runbook/handoff/section.h"
#include "lab/runbook/handoff/summary.h"
#include "lab/runbook/parity/screen.h"
#include "lab/runbook/parity/section.h"
#include "lab/runbook/parity/summary.h"
#include "lab/runbook/plateau/screen.h"
#include "lab/runbook/plateau/section.h"
#include "lab/runbook/plateau/summary.h"
#include "lab/runbook/profile/screen.h"
#include "lab/runbook/profile/section.h"
#include "lab/runbook/profile/summary.h"
#include "lab/runbook/sweep/screen.h"
#include "lab/runbook/sweep/section.h"
#include "lab/runbook/sweep/summary.h"

namespace anymps::lab::runbook::verbs {
namespace {

using nlohmann::json;

// The functions of a verb take its document; those of the table read it out of JSON first.
template <typename Document, auto kScreen, auto kSection, auto kHeadline, auto kFigures>
constexpr Verb verb_of(std::string_view name, std::string_view title, std::string_view about) {
  return {name,
          title,
          about,
          [](const json& from, const base::Terminal& terminal) {
            return kScreen(document::described_from<Document>(from), terminal);
          },
          [](const section::ReportRuns& runs) { return kSection(section::documents_of<Document>(runs)); },
          [](const json& from) { return kHeadline(document::described_from<Document>(from)); },
          [](const json& from) { return kFigures(document::described_from<Document>(from)); }};
}

template <typename Document>
std::vector<document::Figure> no_figures_of(const Document& /*document*/) {
  return {};
}

constexpr Verb kVerbs[] = {
    verb_of<decide::DecideDocument, decide::decide_screen, decide::decide_section, decide::decide_headline,
            decide::decide_figures>("decide", "Decision", "Where this workload should run, and on what evidence."),
    verb_of<sweep::SweepDocument, sweep::sweep_screen, sweep::sweep_section, sweep::sweep_headline,
            sweep::sweep_figures>("sweep", "Batch sweep",
                                  "How throughput and memory grow with the batch, and where it stops."),
    verb_of<plateau::PlateauDocument, plateau::plateau_screen, plateau::plateau_section, plateau::plateau_headline,
            plateau::plateau_figures>("plateau", "Memory plateau",
                                      "Whether memory stays level from epoch to epoch, with a flush after each."),
    verb_of<profile::ProfileDocument, profile::profile_screen, profile::profile_section, profile::profile_headline,
            profile::profile_figures>("profile", "Profile",
                                      "Where the time of a step goes, in a window after the warm-up."),
    verb_of<parity::ParityDocument, parity::parity_screen, parity::parity_section, parity::parity_headline,
            parity::parity_figures>("parity", "Parity", "How far the devices' numbers are apart, from the same seed."),
    verb_of<doctor::DoctorDocument, doctor::doctor_screen, doctor::doctor_section, doctor::doctor_headline,
            no_figures_of<doctor::DoctorDocument>>("doctor", "Gates",
                                                   "Whether this machine and its Python are fit for figures."),
    verb_of<handoff::PackDocument, handoff::pack_screen, handoff::pack_section, handoff::pack_headline,
            no_figures_of<handoff::PackDocument>>("handoff pack", "handoff pack", handoff::kAbout),
    verb_of<handoff::VerifyDocument, handoff::verify_screen, handoff::verify_section, handoff::verify_headline,
            no_figures_of<handoff::VerifyDocument>>("handoff verify", "handoff verify", handoff::kAbout),
    verb_of<handoff::SmokeDocument, handoff::smoke_screen, handoff::smoke_section, handoff::smoke_headline,
            no_figures_of<handoff::SmokeDocument>>("handoff smoke", "handoff smoke", handoff::kAbout),
};

}  // namespace

std::span<const Verb> all_verbs() { return kVerbs; }

const Verb* verb_named(std::string_view name) {
  const auto* const found = std::ranges::find(kVerbs, name, &Verb::name);
  return found != std::end(kVerbs) ? found : nullptr;
}

}  // namespace anymps::lab::runbook::verbs
