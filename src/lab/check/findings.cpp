#include "lab/check/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "gpu/history/operator_history.h"
#include "gpu/history/refusal_history.h"
#include "lab/check/waits.h"
#include "lab/coverage/difference.h"
#include "lab/coverage/screen.h"

namespace anymps::lab::check {
namespace {

using gpu::trace::TraceKind;

// Adds up what has the same rule, subject and line.
class Collector {
 public:
  void add(const CheckRule& rule, const std::string& subject, const std::string& site, const trace::TraceTally& tally) {
    Finding& finding = findings_[{rule.id, subject, site}];
    finding.rule = &rule;
    finding.subject = subject;
    finding.site = trace::SourceSite::parse(site);
    finding.count += tally.count;
    if (rule.unit != CheckUnit::kNone) finding.total += tally.total;
  }

  std::vector<Finding> take() {
    std::vector<Finding> all;
    for (auto& [_, finding] : findings_) all.push_back(std::move(finding));
    return all;
  }

 private:
  std::map<std::tuple<std::string_view, std::string, std::string>, Finding> findings_;
};

const CheckRule* rule_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kFallback:
      return check_rule("fallback-operator");
    case TraceKind::kFloat64:
      return check_rule("float64-refused");
    case TraceKind::kOutOfMemory:
    case TraceKind::kBufferTooLarge:
      return check_rule("out-of-memory");
    default:
      return nullptr;
  }
}

std::string fact_of(const std::vector<trace::TraceFile>& traces, const char* key) {
  for (const trace::TraceFile& trace : traces) {
    const auto fact = trace.facts.find(key);
    if (fact != trace.facts.end() && !fact->second.empty()) return fact->second;
  }
  return {};
}

std::string release_of(const std::vector<trace::TraceFile>& traces) {
  const std::string simulated = fact_of(traces, "as torch");
  return simulated.empty() ? fact_of(traces, "torch") : simulated;
}

bool breaks_operator(std::string_view name, const Upgrade& upgrade) {
  return std::ranges::any_of(coverage::find_operators(name), [&upgrade](const auto& overload) {
    return coverage::operator_change(overload, upgrade.from, upgrade.to) == coverage::OperatorChange::kLost;
  });
}

// `subject` as the backend writes it: "aten::mm: expected mat1 ...".
bool breaks_arguments(std::string_view subject, const Upgrade& upgrade) {
  const std::size_t colon = subject.find(": ");
  if (colon == subject.npos || !subject.starts_with("aten::")) return false;
  const std::string_view name = subject.substr(6, colon - 6);
  const std::string_view from = gpu::history::torch_releases()[upgrade.from].version;
  const std::string_view to = gpu::history::torch_releases()[upgrade.to].version;
  if (!gpu::history::refusals_known(from)) return false;
  const auto rows = gpu::history::refusal_histories();
  // Another text for the same arguments breaks nothing.
  return std::ranges::any_of(rows, [&](const gpu::history::RefusalHistory& row) {
    return row.concerns(to) && row.names(name) && row.can_be_text_of(subject.substr(colon + 2)) &&
           std::ranges::none_of(rows, [&](const gpu::history::RefusalHistory& other) {
             return other.concerns(from) && other.names(name) && other.when == row.when;
           });
  });
}

UpgradeEffect effect_on(const Finding& finding, const Upgrade& upgrade) {
  const std::string_view rule = finding.rule->id;
  if (rule == "upgrade-gain") return UpgradeEffect::kGains;
  const bool breaks =
      rule == "removed-operator" ||
      ((rule == "refused-operator" || rule == "fallback-operator") && breaks_operator(finding.subject, upgrade)) ||
      (rule == "refused-arguments" && breaks_arguments(finding.subject, upgrade));
  return breaks ? UpgradeEffect::kBreaks : UpgradeEffect::kNone;
}

}  // namespace

std::string_view to_text(UpgradeEffect effect) {
  switch (effect) {
    case UpgradeEffect::kBreaks:
      return "breaks";
    case UpgradeEffect::kGains:
      return "gains";
    default:
      return "";
  }
}

std::optional<Upgrade> upgrade_of(const std::vector<trace::TraceFile>& traces) {
  const auto from = gpu::history::installed_release(fact_of(traces, "torch"));
  const auto to = gpu::history::torch_release(fact_of(traces, "as torch"));
  if (!from || !to || *from == *to) return std::nullopt;
  return Upgrade{*from, *to};
}

std::vector<Finding> recorded_findings(const std::vector<trace::TraceFile>& traces, std::vector<std::string>& caveats) {
  Collector collector;
  std::set<std::string> unknown;
  for (const trace::TraceFile& trace : traces) {
    for (const trace::TraceTally& tally : trace.tallies) {
      if (const CheckRule* rule = rule_of(tally.kind)) {
        collector.add(*rule, tally.name, tally.site, tally);
      } else if (tally.kind == TraceKind::kFinding) {
        const std::size_t tab = std::min(tally.name.find('\t'), tally.name.size());
        const std::string id = tally.name.substr(0, tab);
        if (const CheckRule* named = check_rule(id)) {
          collector.add(*named, tally.name.substr(std::min(tab + 1, tally.name.size())), tally.site, tally);
        } else {
          unknown.insert(id);
        }
      }
    }
  }
  for (const std::string& id : unknown) {
    caveats.push_back(fmt::format("a finding of the rule `{}`, which this anymps does not know, is left out", id));
  }
  std::vector<Finding> findings = collector.take();
  std::ranges::move(wait_findings(traces), std::back_inserter(findings));
  const std::string release = release_of(traces);
  const std::optional<Upgrade> upgrade = upgrade_of(traces);
  for (Finding& finding : findings) {
    if (finding.rule->id == "refused-operator" || finding.rule->id == "fallback-operator") {
      finding.detail = operator_arrival(finding.subject, release);
    }
    if (upgrade) finding.upgrade = effect_on(finding, *upgrade);
    if (finding.upgrade == UpgradeEffect::kBreaks) {
      if (!finding.detail.empty()) finding.detail += "; ";
      finding.detail +=
          fmt::format("PyTorch {}, which is installed, runs it", gpu::history::torch_releases()[upgrade->from].version);
    }
  }
  return findings;
}

std::string operator_arrival(std::string_view name, std::string_view release) {
  const auto releases = gpu::history::torch_releases();
  const auto simulated = gpu::history::torch_release(release.substr(0, release.find('+')));
  std::vector<gpu::history::OperatorHistory> overloads = coverage::find_operators(name);
  // Without an overload, those are meant that the release lacks: another may have been there for long.
  if (simulated) {
    std::erase_if(overloads, [&](const auto& overload) { return gpu::history::runs_on_mps(overload.in(*simulated)); });
  }
  if (overloads.empty()) return {};
  const auto runs_in = [&overloads](std::size_t index) {
    return std::ranges::any_of(overloads, [index](const auto& overload) { return runs_on_mps(overload.in(index)); });
  };
  for (std::size_t i = simulated ? *simulated + 1 : 0; i < releases.size(); ++i) {
    if (runs_in(i)) return fmt::format("runs on MPS from PyTorch {} on", releases[i].version);
  }
  return fmt::format("on MPS in no release of PyTorch up to {}", releases.back().version);
}

}  // namespace anymps::lab::check
