// What `anymps check` has a program tell of itself, beyond what every trace has. Off unless ANYMPS_CHECK is set.
//
// A finding is a record of the trace (gpu::TraceKind::kFinding) at the line of the user's that runs; lab/check/rules.h
// lists the rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::backend::observe {

enum class CheckMode : std::uint8_t {
  kOff,
  kGoOn,  // what a Mac refuses runs on the CPU, so that one run finds all
  kStop,  // what a Mac refuses is refused
};

// As the environment had it when the library was loaded.
CheckMode check_mode() noexcept;
inline bool checking() noexcept { return check_mode() != CheckMode::kOff; }

// `quantity` is in the rule's unit. Does nothing unless checking.
void note_finding(std::string_view rule, std::string_view subject = {}, std::uint64_t quantity = 0);

// The same at a line that the caller names, rather than the one that runs.
void note_finding_at(const std::string& site, std::string_view rule, std::string_view subject = {},
                     std::uint64_t quantity = 0);

// Whether the program catches an error of this built-in class of Python's where it runs now, by name: what it expects
// is no finding, and has to happen. False unless checking.
bool is_expected(const char* error_class);

// The Python module puts its own here; C++ programs go without.
using Expectation = bool (*)(const char* error_class);
void set_expectation(Expectation expectation);

// Findings of these rules are not noted until others are named: what a test says that it allows.
void allow_rules(std::vector<std::string> rules);
bool is_allowed(std::string_view rule);

}  // namespace anymps::backend::observe
