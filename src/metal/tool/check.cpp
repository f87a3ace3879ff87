#include "metal/tool/check.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <exception>

#include "metal/lint/lint.h"
#include "metal/support/json_text.h"
#include "metal/tool/trial.h"

namespace anymps::metal::tool {
namespace {

namespace json = llvm::json;

json::Object finding_json(const lint::Finding& finding) {
  return json::Object{{"check", finding.lint},
                      {"severity", finding.severity == lint::Severity::kError ? "error" : "warning"},
                      {"subject", json::fixUTF8(finding.subject)},
                      {"place", json::fixUTF8(finding.place)},
                      {"text", json::fixUTF8(finding.text)}};
}

// The sanitiser's text has a heading, and then lines that say it.
std::string without_heading(const std::string& text) {
  std::string rest = text.substr(std::min(text.find('\n') + 1, text.size()));
  while (rest.ends_with('\n')) rest.pop_back();
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

// Not where a shape of the threadgroup or a whole number may be one that the kernel was not made for.
bool is_certain(const TrialReport& found, const Trial& trial) {
  if (!found.always) return false;
  const pipeline::ValidationReport& report = found.report;
  if (!trial.made_up || report.fault == pipeline::Fault::kDivergentBarrier) return true;
  return report.fault != pipeline::Fault::kOutOfBounds && found.threadgroup;
}

// The threadgroup's shape is our choice, and what is found may depend on it.
std::string launched_with(const TrialReport& found) {
  if (found.fewest_threads == 0) return "";
  const auto& [x, y, z] = found.group;
  return "\n  launched with a threadgroup of " + std::to_string(x) + " x " + std::to_string(y) + " x " +
         std::to_string(z) + " threads";
}

json::Object trial_report_json(const TrialReport& found, const Trial& trial) {
  const pipeline::ValidationReport& report = found.report;
  return json::Object{{"check", llvm::StringRef(name_of(report.fault))},
                      {"severity", is_certain(found, trial) ? "error" : "warning"},
                      {"subject", json::fixUTF8(report.argument)},
                      {"place", json::fixUTF8(report.place)},
                      {"text", json::fixUTF8(without_heading(report.text) + launched_with(found))}};
}

json::Object check(const library::FunctionEntry& function) {
  json::Object entry{{"name", json::fixUTF8(function.name)}};
  try {
    json::Array findings;
    const lint::Lints lints = lint::lint_kernel(function);
    for (const lint::Finding& finding : lints.findings) findings.push_back(finding_json(finding));
    const Trial trial = try_kernel(function, lints);
    for (const TrialReport& found : trial.reports) findings.push_back(trial_report_json(found, trial));
    entry["findings"] = std::move(findings);
    entry["launches"] = static_cast<std::int64_t>(trial.launches);
    entry["not_tried"] = nullptr;
    if (!trial.not_tried.empty()) entry["not_tried"] = json::fixUTF8(trial.not_tried);
  } catch (const std::exception& error) {
    entry["refusal"] = json::fixUTF8(error.what());
  }
  return entry;
}

}  // namespace

std::string check_as_json(std::span<const library::FunctionEntry> functions) {
  json::Array kernels;
  for (const library::FunctionEntry& function : functions) {
    if (function.type == library::FunctionType::kKernel) kernels.push_back(check(function));
  }
  json::Object answer;
  answer["kernels"] = std::move(kernels);
  return support::json_text(std::move(answer));
}

}  // namespace anymps::metal::tool
