// All that `anymps check` has to say of one run. check_screen, check_json, check_sarif, check_junit and check_html
// write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/check/acceptance.h"
#include "lab/check/findings.h"
#include "lab/check/memory.h"
#include "lab/trace/run_summary.h"

namespace anymps::lab::check {

struct CheckPolicy {
  bool strict = false;
  std::optional<Severity> fail_on = Severity::kWarning;  // nothing: findings never make a check fail
  Baseline baseline = {};                                // what is accepted
};

struct CheckReport {
  CheckPolicy policy;
  trace::RunSummary run;  // its caveats are those of the check
  CheckMemory memory;
  std::optional<Upgrade> upgrade;         // where another release was simulated
  std::vector<Finding> findings;          // the most severe first; those of a rule together
  std::size_t accepted = 0;               // findings that are not among them, by a comment or the baseline
  std::vector<std::string_view> skipped;  // ids of rules that could not be looked for
  bool device_used = false;

  std::size_t count(Severity severity) const;
  std::size_t count(UpgradeEffect effect) const;
  bool fails(const Finding& finding) const { return policy.fail_on && finding.severity >= *policy.fail_on; }
  // A command that failed by itself comes before all findings.
  bool command_failed() const { return run.status != 0 || run.interrupted; }
  bool has_failures() const;
  // "2 errors, 1 warning"; "nothing found".
  std::string counts_text() const;
  // One line: counts, and what they mean for the status.
  std::string verdict() const;
  // "from PyTorch 2.13.0 to 2.15.0: 1 place broken, 2 gained"; only where there is an upgrade.
  std::string upgrade_text() const;
};

// The findings of one rule, as readers want them.
struct RuleFindings {
  const CheckRule* rule = nullptr;
  Severity severity = Severity::kNote;
  std::vector<const Finding*> findings;
};
std::vector<RuleFindings> by_rule(const CheckReport& report);

// One line for programs that show a result apart from its rule.
std::string message_of(const Finding& finding);

// A trace knows nothing of how its run was started or ended: `command` and `result` say it, or are empty.
CheckReport check_report(const host::ChildCommand& command, const host::ChildResult& result,
                         const std::vector<trace::TraceFile>& traces, const CheckPolicy& policy);

}  // namespace anymps::lab::check
