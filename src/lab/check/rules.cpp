#include "lab/check/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::check {
namespace {

constexpr std::size_t kRulesWidth = 100;

constexpr std::array kSeverityNames = {std::string_view("note"), std::string_view("warning"),
                                       std::string_view("error")};

using enum Severity;
using enum CheckUnit;

constexpr CheckRule kRules[] = {
#include "check_rules.inc"
};

}  // namespace

std::span<const CheckRule> check_rules() { return kRules; }

const CheckRule* check_rule(std::string_view id) {
  const auto* const found = std::ranges::find(kRules, id, &CheckRule::id);
  return found != std::end(kRules) ? found : nullptr;
}

std::string_view severity_name(Severity severity) { return kSeverityNames[static_cast<std::size_t>(severity)]; }

std::optional<Severity> severity_from(std::string_view name) {
  const auto* const found = std::ranges::find(kSeverityNames, name);
  if (found == kSeverityNames.end()) return std::nullopt;
  return static_cast<Severity>(found - kSeverityNames.begin());
}

std::string in_unit(CheckUnit unit, std::uint64_t total) {
  if (unit == kNone || total == 0) return {};
  return unit == kBytes ? base::human_bytes(total) : base::human_seconds(static_cast<double>(total) * 1e-9);
}

std::string_view unit_name(CheckUnit unit) {
  switch (unit) {
    case kBytes:
      return "bytes";
    case kNanoseconds:
      return "ns";
    default:
      return "";
  }
}

std::string rules_screen(const base::Terminal& terminal) {
  constexpr std::string_view kIndent = "    ";
  const std::size_t width = std::min(kRulesWidth, terminal.room());
  std::string text;
  for (const CheckRule& rule : kRules) {
    const std::string strict = rule.strict_severity != rule.severity
                                   ? fmt::format(", {} with --strict", severity_name(rule.strict_severity))
                                   : "";
    text += fmt::format("{} ({}{})\n{}", rule.id, severity_name(rule.severity), strict, kIndent);
    text += base::wrapped(fmt::format("{}. {}", rule.title, rule.why), width, kIndent);
    text += fmt::format("{}{}", kIndent, base::wrapped(fmt::format("Do: {}", rule.remedy), width, kIndent));
  }
  return text;
}

}  // namespace anymps::lab::check
