#include "lab/check/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "gpu/history/operator_history.h"
#include "lab/base/counted.h"
#include "lab/check/timing.h"

namespace anymps::lab::check {
namespace {

void put_in_order(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, [](const Finding& left, const Finding& right) {
    // The table's order among rules of one severity, then the costliest place.
    return std::tuple(right.severity, left.rule, right.total, right.count) <
           std::tuple(left.severity, right.rule, left.total, left.count);
  });
}

}  // namespace

std::size_t CheckReport::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

std::size_t CheckReport::count(UpgradeEffect effect) const {
  return static_cast<std::size_t>(std::ranges::count(findings, effect, &Finding::upgrade));
}

bool CheckReport::has_failures() const {
  return std::ranges::any_of(findings, [this](const Finding& finding) { return fails(finding); });
}

std::string CheckReport::counts_text() const {
  std::vector<std::string> parts;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    if (const std::size_t number = count(severity); number > 0) {
      parts.push_back(base::counted(number, severity_name(severity)));
    }
  }
  std::string text = parts.empty() ? "nothing found" : fmt::format("{}", fmt::join(parts, ", "));
  if (accepted > 0) text += fmt::format(" ({} accepted)", accepted);
  return text;
}

std::string CheckReport::verdict() const {
  if (command_failed()) return "the command failed; " + counts_text() + " until then";
  if (run.processes == 0) return "nothing was checked: no process left a trace; did the program import torch?";
  if (has_failures()) {
    return counts_text() + (count(Severity::kError) > 0 ? ": not ready for a Mac" : ": not at its best on a Mac");
  }
  return findings.empty() ? counts_text() : counts_text() + ", nothing that fails the check";
}

std::string CheckReport::upgrade_text() const {
  const auto releases = gpu::history::torch_releases();
  return fmt::format("from PyTorch {} to {}: {} broken, {} gained", releases[upgrade->from].version,
                     releases[upgrade->to].version, base::counted(count(UpgradeEffect::kBreaks), "place"),
                     count(UpgradeEffect::kGains));
}

std::vector<RuleFindings> by_rule(const CheckReport& report) {
  std::vector<RuleFindings> groups;
  for (const Finding& finding : report.findings) {
    if (groups.empty() || groups.back().rule != finding.rule) groups.push_back({finding.rule, finding.severity, {}});
    groups.back().findings.push_back(&finding);
  }
  return groups;
}

std::string message_of(const Finding& finding) {
  std::string message(finding.rule->title);
  if (!finding.subject.empty()) message += ": " + finding.subject;
  std::vector<std::string> figures;
  if (finding.count > 1) figures.push_back(base::counted(finding.count, "time"));
  if (const std::string total = in_unit(finding.rule->unit, finding.total); !total.empty()) figures.push_back(total);
  if (!figures.empty()) message += fmt::format(" ({})", fmt::join(figures, ", "));
  if (!finding.detail.empty()) message += "; " + finding.detail;
  return message;
}

CheckReport check_report(const host::ChildCommand& command, const host::ChildResult& result,
                         const std::vector<trace::TraceFile>& traces, const CheckPolicy& policy) {
  CheckReport report;
  report.policy = policy;
  report.run = trace::summarise(command, result, traces);
  report.memory = check_memory(traces);
  report.upgrade = upgrade_of(traces);
  report.findings = recorded_findings(traces, report.run.caveats);
  std::ranges::move(memory_findings(traces, report.memory), std::back_inserter(report.findings));
  TimingFindings timing = timing_findings(traces);
  std::ranges::move(timing.findings, std::back_inserter(report.findings));
  if (!timing.why_not.empty()) {
    report.skipped.push_back(kTimingRule);
    report.run.caveats.push_back(fmt::format("{} was not looked for: {}", kTimingRule, timing.why_not));
  }
  report.device_used = std::ranges::any_of(traces, [](const trace::TraceFile& trace) {
    return trace.peak_allocated_bytes > 0 || trace.peak_driver_bytes > 0;
  });
  if (!report.device_used && report.run.processes > 0 && !report.command_failed()) {
    Finding finding;
    finding.rule = check_rule("mps-not-used");
    finding.count = 1;
    const bool asked = std::ranges::any_of(
        report.findings, [](const Finding& other) { return other.rule->id == std::string_view("platform-asked"); });
    if (asked) finding.detail = "it asked Python which machine this is, and was told the truth (platform-asked)";
    report.findings.push_back(std::move(finding));
  }
  report.accepted = take_accepted(report.findings, policy.baseline);
  for (Finding& finding : report.findings) {
    finding.severity = policy.strict ? finding.rule->strict_severity : finding.rule->severity;
  }
  put_in_order(report.findings);
  return report;
}

}  // namespace anymps::lab::check
