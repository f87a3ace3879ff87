#include "lab/runbook/handoff/summary.h"

#include "lab/base/counted.h"

namespace anymps::lab::runbook::handoff {
namespace {

std::string differences_text(const std::vector<Difference>& differences) {
  return differences.empty() ? "nothing differs" : base::counted(differences.size(), "difference");
}

}  // namespace

std::string pack_headline(const PackDocument& /*document*/) { return {}; }

std::string verify_headline(const VerifyDocument& document) { return differences_text(document.differences); }

std::string smoke_headline(const SmokeDocument& document) { return differences_text(document.differences); }

}  // namespace anymps::lab::runbook::handoff
