#include "lab/coverage/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lab/base/counted.h"
#include "lab/base/text_wrap.h"
#include "lab/coverage/screen.h"

namespace anymps::lab::coverage {
namespace {

using gpu::history::OperatorRoute;
using gpu::history::RefusalHistory;

constexpr std::string_view kListIndent = "  ";
constexpr std::string_view kReasonIndent = "      ";

struct ChangeText {
  OperatorChange change;
  std::string_view name;
  std::string_view title;
};
// What breaks a program comes first.
constexpr std::array kChanges = {
    ChangeText{OperatorChange::kRemoved, "removed", "No longer in PyTorch"},
    ChangeText{OperatorChange::kLost, "lost", "No longer on MPS"},
    ChangeText{OperatorChange::kGained, "gained", "Now on MPS"},
    ChangeText{OperatorChange::kNewRefused, "new_refused", "New in PyTorch, not on MPS"},
};

const ChangeText& change_text(OperatorChange change) {
  return *std::ranges::find(kChanges, change, &ChangeText::change);
}

// How well a program is served: not at all, by the CPU, by the device.
int service(OperatorRoute route) {
  if (runs_on_mps(route)) return 3;
  if (route == OperatorRoute::kFallback) return 2;
  return route == OperatorRoute::kRefused ? 1 : 0;
}

bool is_of_something_that_runs(const RefusalHistory& row, std::size_t release) {
  return std::ranges::any_of(gpu::history::operator_histories(), [&](const gpu::history::OperatorHistory& history) {
    return service(history.in(release)) > 1 && row.names(history.name);
  });
}

// What `first` refuses and `second` does not, of operators that `second` has: where an operator is new, so is all that
// it refuses, and a program sees the operator alone. Nor does it see another text for the same arguments.
std::vector<RefusalHistory> in_first_alone(std::size_t first, std::size_t second) {
  const auto rows = gpu::history::refusal_histories();
  const std::string_view old = gpu::history::torch_releases()[second].version;
  const auto is_refused_by_both = [&](const RefusalHistory& row) {
    return std::ranges::any_of(rows, [&](const RefusalHistory& other) {
      return other.concerns(old) &&
             std::tie(other.operators, other.when, other.exception) == std::tie(row.operators, row.when, row.exception);
    });
  };
  std::vector<RefusalHistory> found;
  for (const RefusalHistory& row : rows) {
    if (!row.concerns(gpu::history::torch_releases()[first].version) || row.concerns(old)) continue;
    if (!is_refused_by_both(row) && is_of_something_that_runs(row, second)) found.push_back(row);
  }
  return found;
}

std::string names_told(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::string change_title(std::string_view title, std::size_t count, const base::Terminal& terminal) {
  return "\n" + terminal.paint(base::kBold, fmt::format("{} ({})", title, count)) + "\n";
}

// Whether all overloads of a name that there are before or after change in this way.
bool changes_as_a_whole(std::string_view name, const ReleaseDifference& difference, OperatorChange change) {
  return std::ranges::all_of(gpu::history::overloads_of(name), [&](const gpu::history::OperatorHistory& overload) {
    const bool is_there = overload.in(difference.from) != OperatorRoute::kUnknown ||
                          overload.in(difference.to) != OperatorRoute::kUnknown;
    return !is_there || operator_change(overload, difference.from, difference.to) == change;
  });
}

std::string change_part(const ReleaseDifference& difference, const ChangeText& kind, const base::Terminal& terminal) {
  std::vector<std::string_view> names;
  std::vector<std::string_view> internal;
  for (const auto& [history, change] : difference.operators) {
    if (change != kind.change) continue;
    std::string_view name = history.name.substr(0, history.name.find('.'));
    std::vector<std::string_view>& into = name.starts_with('_') ? internal : names;
    if (!changes_as_a_whole(name, difference, change)) name = history.name;
    if (into.empty() || into.back() != name) into.push_back(name);
  }
  if (names.empty() && internal.empty()) return {};
  std::string text = change_title(kind.title, names.size() + internal.size(), terminal);
  if (!names.empty()) text += base::fitted_line(kListIndent, names_told(names), terminal);
  if (!internal.empty()) {
    text += base::fitted_line(kListIndent, "beneath other operators: " + names_told(internal), terminal);
  }
  return text;
}

std::string refusals_part(std::string_view title, const std::vector<RefusalHistory>& rows,
                          const base::Terminal& terminal) {
  if (rows.empty()) return {};
  std::string text = change_title(title, rows.size(), terminal);
  for (const RefusalHistory& row : rows) {
    text += base::fitted_line(kListIndent, fmt::format("{} | {}", row.operators, row.when), terminal);
    text += base::fitted_line(kReasonIndent, fmt::format("{}: {}", row.exception, row.text), terminal);
  }
  return text;
}

nlohmann::json refusals_json(const std::vector<RefusalHistory>& rows) {
  auto all = nlohmann::json::array();
  for (const RefusalHistory& row : rows) {
    all.push_back({{"operators", row.operators}, {"when", row.when}, {"exception", row.exception}, {"text", row.text}});
  }
  return all;
}

}  // namespace

std::string_view to_text(OperatorChange change) { return change_text(change).name; }

std::optional<OperatorChange> operator_change(const gpu::history::OperatorHistory& history, std::size_t from,
                                              std::size_t to) {
  const OperatorRoute before = route_with_parts(history, from);
  const OperatorRoute after = route_with_parts(history, to);
  if (after == OperatorRoute::kUnknown && before != after) return OperatorChange::kRemoved;
  if (service(after) == service(before)) return std::nullopt;
  if (before == OperatorRoute::kUnknown && !runs_on_mps(after)) return OperatorChange::kNewRefused;
  return service(after) > service(before) ? OperatorChange::kGained : OperatorChange::kLost;
}

ReleaseDifference release_difference(std::size_t from, std::size_t to) {
  const std::string_view old_version = gpu::history::torch_releases()[from].version;
  const std::string_view new_version = gpu::history::torch_releases()[to].version;
  ReleaseDifference difference{from, to, {}, {}, {}, true};
  for (const gpu::history::OperatorHistory& history : gpu::history::operator_histories()) {
    if (const auto change = operator_change(history, from, to)) difference.operators.push_back({history, *change});
  }
  difference.refusals_known = gpu::history::refusals_known(old_version) && gpu::history::refusals_known(new_version);
  if (difference.refusals_known) {
    difference.new_refusals = in_first_alone(to, from);
    difference.gone_refusals = in_first_alone(from, to);
  }
  return difference;
}

std::string difference_screen(const ReleaseDifference& difference, const base::Terminal& terminal) {
  const std::string_view from = gpu::history::torch_releases()[difference.from].version;
  const std::string_view to = gpu::history::torch_releases()[difference.to].version;
  std::string text = base::fitted(fmt::format("From PyTorch {} to {}, on MPS", from, to), kListIndent, terminal);
  const std::size_t head = text.size();
  for (const ChangeText& kind : kChanges) text += change_part(difference, kind, terminal);
  text += refusals_part("Newly refused arguments", difference.new_refusals, terminal);
  text += refusals_part("No longer refused arguments", difference.gone_refusals, terminal);
  if (text.size() == head) text += "\nno operator changed\n";
  if (!difference.refusals_known) {
    text += "\n" + base::fitted(fmt::format("Which arguments operators refuse is known from {} on.",
                                            gpu::history::kFirstKnownRefusals),
                                "", terminal);
  }
  return text;
}

nlohmann::json difference_to_json(const ReleaseDifference& difference) {
  nlohmann::json operators = nlohmann::json::object();
  for (const auto& [history, change] : difference.operators) {
    operators[std::string(history.name)] = {
        {"change", to_text(change)},
        {"from", route_name(gpu::history::route_with_parts(history, difference.from))},
        {"to", route_name(gpu::history::route_with_parts(history, difference.to))},
    };
  }
  nlohmann::json refusals;
  if (difference.refusals_known) {
    refusals = {{"new", refusals_json(difference.new_refusals)}, {"gone", refusals_json(difference.gone_refusals)}};
  }
  return {{"version", 1},
          {"from", gpu::history::torch_releases()[difference.from].version},
          {"to", gpu::history::torch_releases()[difference.to].version},
          {"operators", std::move(operators)},
          {"refusals", std::move(refusals)}};
}

}  // namespace anymps::lab::coverage
