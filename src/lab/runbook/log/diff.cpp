#include "lab/runbook/log/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/runbook/document/fields.h"
#include "lab/runbook/log/explanations.h"
#include "lab/runbook/log/fields.h"
#include "lab/runbook/log/figures.h"

namespace anymps::lab::runbook::log {
namespace {

using nlohmann::json;

// A smaller difference of speed than this needs no explanation.
constexpr double kNoise = 0.03;

// These differ from one minute to the next; they are shown, but as what they are.
constexpr std::array<std::string_view, 7> kConditions = {
    "swap", "thermal", "load", "memory_free_bytes", "battery_share", "background", "artifact_store.rtt_seconds"};

bool begins_with_word(std::string_view name, std::string_view word) {
  return name.starts_with(word) && (name.size() == word.size() || name[word.size()] == '.');
}

ChangeKind kind_of(std::string_view name) {
  if (begins_with_word(name, "settings") || name == "command") return ChangeKind::kSetting;
  const bool condition = std::ranges::any_of(kConditions, [&](auto word) { return begins_with_word(name, word); });
  return condition ? ChangeKind::kCondition : ChangeKind::kCircumstance;
}

// {"machine": {"cpu": ...}} as {"machine.cpu": ...}. Lists stay whole.
void flatten_with_dots(const json& value, const std::string& prefix, std::map<std::string, json>& flat) {
  if (!value.is_object()) {
    flat[prefix] = value;
    return;
  }
  for (const auto& [name, inner] : value.items())
    flatten_with_dots(inner, prefix.empty() ? name : prefix + "." + name, flat);
}

std::map<std::string, json> flat_facts(const logbook::LoggedRun& run) {
  std::map<std::string, json> flat;
  flatten_with_dots(run.facts, "", flat);
  flat["command"] = run.command;
  // Names only: what a process has used since it was started says nothing here.
  std::set<std::string> apps;
  for (const json& app : document::member(run.facts, "background")) apps.insert(document::string_in(app, "name"));
  flat["background"] = apps;
  for (const json& gate : document::member(run.document, "gates")) {
    flat["gate." + document::string_in(gate, "name")] = document::string_in(gate, "state");
  }
  flat.erase("");
  std::erase_if(flat, [](const auto& fact) { return is_recorders_own(fact.first); });
  return flat;
}

std::vector<Change> changes(const logbook::LoggedRun& before, const logbook::LoggedRun& after) {
  const auto first = flat_facts(before);
  const auto second = flat_facts(after);
  std::set<std::string> names;
  for (const auto& [name, value] : first) names.insert(name);
  for (const auto& [name, value] : second) names.insert(name);
  std::vector<Change> all;
  for (const std::string& name : names) {
    const json old_value = first.contains(name) ? first.at(name) : json();
    const json new_value = second.contains(name) ? second.at(name) : json();
    if (old_value == new_value) continue;
    all.push_back({name, old_value, new_value, kind_of(name)});
  }
  return all;
}

DiffEnd end_of(const logbook::LoggedRun& run) { return {run.id, run.verb, run.started, run.verdict, run.command}; }

struct Comparison {
  std::vector<FigurePair> figures;
  std::optional<double> speed_change;  // the median of all places
  bool within_spread = true;           // of the figures that the speed is taken from
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool overlap(const document::Figure& one, const document::Figure& other) {
  return one.low && one.high && other.low && other.high && *one.low <= *other.high && *other.low <= *one.high;
}

Comparison compare(const logbook::LoggedRun& before, const logbook::LoggedRun& after) {
  Comparison result;
  const std::vector<document::Figure> second = run_figures(after);
  std::vector<double> rates;
  std::vector<double> times;
  for (const document::Figure& old_figure : run_figures(before)) {
    const auto found = std::ranges::find_if(second, [&](const document::Figure& figure) {
      return figure.name == old_figure.name && figure.at == old_figure.at;
    });
    if (found == second.end()) continue;
    const bool comparable = old_figure.value != 0;
    const double change = comparable ? found->value / old_figure.value - 1 : 0;
    result.figures.push_back({old_figure.name, old_figure.at, old_figure.kind, old_figure.value, found->value,
                              comparable ? std::optional(change) : std::nullopt});
    if (!comparable || found->value <= 0) continue;
    if (old_figure.kind == document::FigureKind::kRate) {
      rates.push_back(change);
      if (!overlap(old_figure, *found)) result.within_spread = false;
    }
    if (old_figure.name == "step_seconds") times.push_back(old_figure.value / found->value - 1);
  }
  if (rates.empty()) result.within_spread = false;
  if (!rates.empty()) {
    result.speed_change = median(rates);
  } else if (!times.empty()) {
    result.speed_change = median(times);
  }
  return result;
}

std::string conclusion(const Comparison& comparison, const std::vector<Explanation>& explanations) {
  if (!comparison.speed_change) return "No figure of speed is in both runs, so there is no difference to explain.";
  const double change = *comparison.speed_change;
  // Beyond a double a percentage is hard to read.
  const std::string what = change >= 1 ? fmt::format("The later run is {:.3g} times as fast", 1 + change)
                                       : fmt::format("The later run is {:.1f}% {}", 100 * std::abs(change),
                                                     change < 0 ? "slower" : "faster");
  if (comparison.within_spread) return what + ", which is within the spread of the measurements.";
  if (std::abs(change) < kNoise)
    return fmt::format("{}, which is less than the {:.0f}% that runs differ by anyway.", what, 100 * kNoise);
  if (explanations.empty()) return what + "; nothing recorded explains it.";
  std::vector<std::string> names;
  std::vector<std::string> unbounded;
  double left = 1;  // of the speed, when all that has a bound has taken its most
  for (const Explanation& explanation : explanations) {
    names.push_back(explanation.name);
    if (explanation.up_to) {
      left *= 1 - *explanation.up_to;
    } else {
      unbounded.push_back(explanation.name);
    }
  }
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (!unbounded.empty()) {
    return fmt::format(
        "{}. What changed and could explain it: {}. How much of it comes from {} is not known: "
        "change that alone back, and measure again.",
        what, all, fmt::join(unbounded, ", "));
  }
  // As a share of the faster run's speed, whichever that is.
  const double loss = change < 0 ? -change : 1 - 1 / (1 + change);
  if (1 - left >= loss)
    return fmt::format("{}; {} can explain all of it (up to {:.0f}%).", what, all, 100 * (1 - left));
  return fmt::format("{}; {} can explain at most {:.0f}% of the speed, and nothing recorded explains the rest.", what,
                     all, 100 * (1 - left));
}

}  // namespace

DiffDocument log_diff(const RunWithSamples& before, const RunWithSamples& after) {
  Comparison comparison = compare(before.run, after.run);
  DiffDocument document;
  document.before = end_of(before.run);
  document.after = end_of(after.run);
  document.changed = changes(before.run, after.run);
  document.speed_change = comparison.speed_change;
  document.explanations = explain(before, after, comparison.speed_change);
  document.conclusion = conclusion(comparison, document.explanations);
  document.figures = std::move(comparison.figures);
  return document;
}

}  // namespace anymps::lab::runbook::log
