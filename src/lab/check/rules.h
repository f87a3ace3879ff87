// The rules of `anymps check`: what is looked for, how bad it is, why it matters on a Mac, and what to do about it.
// The recorder (backend, python/anymps) names a rule by its id; docs/check.md lists them all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lab/base/terminal.h"

namespace anymps::lab::check {

enum class Severity : std::uint8_t { kNote, kWarning, kError };

// Of what a finding adds up.
enum class CheckUnit : std::uint8_t { kNone, kBytes, kNanoseconds };

struct CheckRule {
  std::string_view id;
  Severity severity;
  CheckUnit unit;
  std::string_view title;
  std::string_view why;
  std::string_view remedy;
  // What it becomes with --strict; the same for most.
  Severity strict_severity = severity;
};

// The order of the list is that of the documentation: what stops a program, what slows it, what it keeps.
std::span<const CheckRule> check_rules();
// Null where there is none.
const CheckRule* check_rule(std::string_view id);

// "error", "warning", "note", which SARIF calls them too.
std::string_view severity_name(Severity severity);
std::optional<Severity> severity_from(std::string_view name);

// "1.2 MiB" or "3.4 ms"; empty where the rule adds up nothing, or nothing came together.
std::string in_unit(CheckUnit unit, std::uint64_t total);
// "bytes" or "ns", for programs; empty where there is none.
std::string_view unit_name(CheckUnit unit);

// All rules for a reader, a paragraph each.
std::string rules_screen(const base::Terminal& terminal);

}  // namespace anymps::lab::check
