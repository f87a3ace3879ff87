#include "lab/runbook/doctor/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace anymps::lab::runbook::doctor {

std::string doctor_headline(const DoctorDocument& document) {
  std::string text;
  for (const GateState state : kWorstFirst) {
    const auto number = std::ranges::count(document.gates, state, &Gate::state);
    if (number != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, document::word_of(state));
  }
  return text;
}

}  // namespace anymps::lab::runbook::doctor
