#include <fmt/format.h>

#include <algorithm>

#include "lab/runbook/document/fields.h"
#include "lab/runbook/report/sections.h"

namespace anymps::lab::runbook::report {
namespace {

using nlohmann::json;

std::string of_doctor(const json& document) {
  std::string text;
  for (const char* state : {"red", "yellow", "green"}) {
    const auto number = std::ranges::count_if(document::list_in(document, "gates"), [state](const json& gate) {
      return document::words_in(gate, "state") == state;
    });
    if (number != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, state);
  }
  return text;
}

std::string of_sweep(const json& document) {
  std::string text;
  for (const json& series : document::list_in(document, "series")) {
    const auto batch = document::number_in(document::object_in(series, "recommended"), "batch");
    if (!batch) continue;
    text += fmt::format("{}batch {}", text.empty() ? "" : "; ", html::value_text(*batch, html::Unit::kNumber));
    for (const json& point : document::list_in(series, "points")) {
      const auto speed = document::number_in(point, "samples_per_second");
      if (speed && document::number_in(point, "batch") == batch) {
        text += fmt::format(", {} samples/s", html::value_text(*speed, html::Unit::kNumber));
        break;
      }
    }
  }
  return text;
}

std::string of_plateau(const json& document) {
  const auto rise = document::number_in(document, "rise_share");
  return rise ? fmt::format("{:+.1f}% over {} epochs", 100 * *rise, document::list_in(document, "epochs").size()) : "";
}

std::string of_parity(const json& document) {
  std::string text;
  for (const json& comparison : document::list_in(document, "comparisons")) {
    double ulps = 0;
    for (const char* kind : {"layers", "gradients"}) {
      for (const json& row : document::list_in(comparison, kind)) {
        if (!document::flag_in(row, "random")) ulps = std::max(ulps, document::number_in(row, "max_ulps").value_or(0));
      }
    }
    text += fmt::format("{}{}: at most {} ulps", text.empty() ? "" : "; ", document::words_in(comparison, "device"),
                        html::value_text(ulps, html::Unit::kNumber));
  }
  return text;
}

std::string of_profile(const json& document) {
  std::string largest;
  double most = 0;
  for (const auto& [name, value] : document::object_in(document::object_in(document, "full"), "shares").items()) {
    if (!value.is_number() || value.get<double>() <= most) continue;
    most = value.get<double>();
    largest = name;
  }
  return largest.empty() ? "" : fmt::format("{} of a step is {}", html::value_text(most, html::Unit::kShare), largest);
}

std::string of_handoff(const json& document) {
  if (!document.contains("differences")) return {};
  const std::size_t number = document::list_in(document, "differences").size();
  return number == 0 ? "nothing differs" : fmt::format("{} difference{}", number, number == 1 ? "" : "s");
}

}  // namespace

std::string headline(const json& document) {
  const std::string verb = document::words_in(document, "verb");
  if (verb == "doctor") return of_doctor(document);
  if (verb == "sweep") return of_sweep(document);
  if (verb == "plateau") return of_plateau(document);
  if (verb == "parity") return of_parity(document);
  if (verb == "profile") return of_profile(document);
  if (verb == "decide") return document::words_in(document::object_in(document, "decision"), "outcome");
  return verb.starts_with("handoff") ? of_handoff(document) : "";
}

}  // namespace anymps::lab::runbook::report
