#include "lab/runbook/logbook/diff.h"

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

#include "lab/runbook/document/fields.h"
#include "lab/runbook/logbook/explanations.h"
#include "lab/runbook/logbook/fields.h"
#include "lab/runbook/logbook/figures.h"

namespace anymps::lab::runbook::logbook {
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

std::string kind_of(std::string_view name) {
  if (begins_with_word(name, "settings") || name == "command") return "setting";
  const bool condition = std::ranges::any_of(kConditions, [&](auto word) { return begins_with_word(name, word); });
  return condition ? "condition" : "circumstance";
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

std::map<std::string, json> flat_facts(const LoggedRun& run) {
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

json changes(const LoggedRun& before, const LoggedRun& after) {
  const auto first = flat_facts(before);
  const auto second = flat_facts(after);
  std::set<std::string> names;
  for (const auto& [name, value] : first) names.insert(name);
  for (const auto& [name, value] : second) names.insert(name);
  auto all = json::array();
  for (const std::string& name : names) {
    const json old_value = first.contains(name) ? first.at(name) : json();
    const json new_value = second.contains(name) ? second.at(name) : json();
    if (old_value == new_value) continue;
    all.push_back({{"name", name}, {"before", old_value}, {"after", new_value}, {"kind", kind_of(name)}});
  }
  return all;
}

json end_of(const LoggedRun& run) {
  return {{"run", run.id},
          {"verb", run.verb},
          {"started", run.started},
          {"verdict", document::verdict_text(run.verdict)},
          {"command", run.command}};
}

struct Comparison {
  json figures = json::array();
  std::optional<double> speed_change;  // the median of all places
  bool within_spread = true;           // of the figures that the speed is taken from
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool overlap(const RunFigure& one, const RunFigure& other) {
  return one.low && one.high && other.low && other.high && *one.low <= *other.high && *other.low <= *one.high;
}

Comparison compare(const LoggedRun& before, const LoggedRun& after) {
  Comparison result;
  const std::vector<RunFigure> second = run_figures(after);
  std::vector<double> rates;
  std::vector<double> times;
  for (const RunFigure& old_figure : run_figures(before)) {
    const auto found = std::ranges::find_if(
        second, [&](const RunFigure& figure) { return figure.name == old_figure.name && figure.at == old_figure.at; });
    if (found == second.end()) continue;
    const bool comparable = old_figure.value != 0;
    const double change = comparable ? found->value / old_figure.value - 1 : 0;
    result.figures.push_back({{"name", old_figure.name},
                              {"at", old_figure.at},
                              {"kind", kind_text(old_figure.kind)},
                              {"before", old_figure.value},
                              {"after", found->value},
                              {"change", comparable ? json(change) : json()}});
    if (!comparable || found->value <= 0) continue;
    if (old_figure.kind == FigureKind::kRate) {
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

json log_diff(const RunWithSamples& before, const RunWithSamples& after) {
  const Comparison comparison = compare(before.run, after.run);
  const std::vector<Explanation> explanations = explain(before, after, comparison.speed_change);
  auto listed = json::array();
  for (const Explanation& explanation : explanations) {
    listed.push_back({{"name", explanation.name},
                      {"text", explanation.text},
                      {"up_to", explanation.up_to ? json(*explanation.up_to) : json()}});
  }
  return {{"before", end_of(before.run)},
          {"after", end_of(after.run)},
          {"changed", changes(before.run, after.run)},
          {"figures", comparison.figures},
          {"speed_change", comparison.speed_change ? json(*comparison.speed_change) : json()},
          {"explanations", std::move(listed)},
          {"conclusion", conclusion(comparison, explanations)}};
}

}  // namespace anymps::lab::runbook::logbook
