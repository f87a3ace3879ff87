#include "lab/check/json.h"

#include <nlohmann/json.hpp>

#include "gpu/history/operator_history.h"
#include "lab/base/json_text.h"

namespace anymps::lab::check {
namespace {

using nlohmann::json;

template <typename Value>
json null_where_default(const Value& value) {
  return value != Value{} ? json(value) : json();
}

json finding_json(const Finding& finding) {
  return {{"rule", finding.rule->id},
          {"severity", severity_name(finding.severity)},
          {"subject", finding.subject},
          {"file", null_where_default(finding.site.file)},
          {"line", null_where_default(finding.site.line)},
          {"count", finding.count},
          {"total", finding.total},
          {"unit", null_where_default(unit_name(finding.rule->unit))},
          {"detail", finding.detail},
          {"upgrade", null_where_default(to_text(finding.upgrade))}};
}

json upgrade_json(const CheckReport& report) {
  if (!report.upgrade) return {};
  const auto releases = gpu::history::torch_releases();
  return {{"from", releases[report.upgrade->from].version},
          {"to", releases[report.upgrade->to].version},
          {"breaks", report.count(UpgradeEffect::kBreaks)},
          {"gains", report.count(UpgradeEffect::kGains)}};
}

}  // namespace

std::string check_json(const CheckReport& report) {
  auto findings = json::array();
  for (const Finding& finding : report.findings) findings.push_back(finding_json(finding));
  json counts;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    counts[severity_name(severity)] = report.count(severity);
  }
  const trace::RunSummary& run = report.run;
  const json whole = {
      {"version", 1},
      {"command", run.command},
      {"status", run.status},
      {"signal", run.signal != 0 ? json(trace::signal_name(run.signal)) : json()},
      {"interrupted", run.interrupted},
      {"seconds", run.seconds},
      {"processes", run.processes},
      {"device_used", report.device_used},
      {"facts", run.facts},
      {"memory",
       {{"tensor_bytes", report.memory.tensor_bytes},
        {"block_bytes", report.memory.block_bytes},
        {"driver_bytes", report.memory.driver_bytes},
        {"limit_bytes", null_where_default(report.memory.limit_bytes)},
        {"recommended_bytes", null_where_default(report.memory.recommended_bytes)}}},
      {"fail_on", report.policy.fail_on ? severity_name(*report.policy.fail_on) : "never"},
      {"strict", report.policy.strict},
      {"failed", report.has_failures()},
      {"verdict", report.verdict()},
      {"accepted", report.accepted},
      {"counts", std::move(counts)},
      {"upgrade", upgrade_json(report)},
      {"findings", std::move(findings)},
      {"skipped_rules", report.skipped},
      {"caveats", run.caveats},
  };
  return base::json_pages(whole);
}

}  // namespace anymps::lab::check
