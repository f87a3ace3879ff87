#include "lab/runbook/decide/stop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace anymps::lab::runbook::decide {
namespace {

constexpr double kDisagree = 0.1;     // of a step's time
constexpr double kLittleInput = 0.3;  // of a step: the loader holds nothing back
constexpr std::size_t kOperators = 3;
constexpr double kDay = 86400;

double time_of(const std::string& utc) {
  std::tm parts{};
  if (::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return static_cast<double>(::timegm(&parts));
}

// Seconds of each operator in one step.
std::map<std::string, double> per_step(const profile::Profile& profile) {
  const auto steps = static_cast<double>(std::max<std::uint64_t>(1, profile.steps()));
  std::map<std::string, double> operators;
  for (const profile::OperatorRow& row : profile.operators) operators[row.name] = row.self_seconds / steps;
  return operators;
}

std::vector<std::string> top_operators(const profile::Profile& profile) {
  std::vector<std::string> names;
  for (const profile::OperatorRow& row : profile.operators) {
    if (names.size() == kOperators) break;
    names.push_back(row.name);
  }
  std::ranges::sort(names);
  return names;
}

// The operators by which two profiles differ most.
std::vector<std::string> differing_operators(const profile::Profile& older, const profile::Profile& newer) {
  const auto before = per_step(older);
  const auto after = per_step(newer);
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [name, seconds] : after) {
    const auto found = before.find(name);
    changes.emplace_back(std::abs(seconds - (found != before.end() ? found->second : 0)), name);
  }
  std::ranges::sort(changes, std::greater{});
  std::vector<std::string> names;
  for (const auto& [_, name] : changes) {
    if (names.size() == kOperators) break;
    names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Of two profiles, whether they end the tuning.
std::optional<StopRule> stop_rule_of(const logbook::LoggedRun& older_run, const logbook::LoggedRun& newer_run,
                                     const DecideSettings& settings) {
  const double apart = (time_of(newer_run.started) - time_of(older_run.started)) / kDay;
  if (apart < settings.week) return std::nullopt;
  const auto older = document::described_from<profile::Profile>(older_run.document);
  const auto newer = document::described_from<profile::Profile>(newer_run.document);
  const double before = older.step_seconds().value_or(0);
  if (before <= 0) return std::nullopt;
  const double change = std::abs(newer.step_seconds().value_or(0) - before) / before;
  const bool loaded = newer.input_share() < kLittleInput && older.input_share() < kLittleInput;
  const std::vector<std::string> differing = differing_operators(older, newer);
  if (!loaded || change < kDisagree || differing.size() < kOperators || differing != top_operators(newer) ||
      differing != top_operators(older)) {
    return std::nullopt;
  }
  return StopRule{
      .runs = {older_run.id, newer_run.id},
      .days_apart = apart,
      .change = change,
      .operators = differing,
      .why = fmt::format("profiles {} and {}, {:.0f} days apart, differ by {:.0f}% although their loaders hold nothing "
                         "back, by the same operators: stop tuning, and change the contract",
                         older_run.id, newer_run.id, apart, 100 * change)};
}

}  // namespace

std::optional<StopRule> stop_rule(const std::vector<logbook::LoggedRun>& profiles, const DecideSettings& settings) {
  for (std::size_t i = 0; i + 1 < profiles.size(); ++i) {
    for (std::size_t j = i + 1; j < profiles.size(); ++j) {
      if (auto rule = stop_rule_of(profiles[j], profiles[i], settings)) return rule;
    }
  }
  return std::nullopt;
}

}  // namespace anymps::lab::runbook::decide
