// What became of the user's command when it was run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/enum_words.h"

namespace anymps::lab::runbook::document {

enum class Outcome {
  kRan,
  kOutOfMemory,
  kWouldSwap,  // it ran here, where the simulated Mac has less memory than it took
  kCrashed,
  kKilled,
  kHung,
  kNotStarted,
};

constexpr EnumWord<Outcome> kOutcomeWords[] = {{Outcome::kRan, "ran"},
                                               {Outcome::kOutOfMemory, "out of memory"},
                                               {Outcome::kWouldSwap, "would swap"},
                                               {Outcome::kCrashed, "crashed"},
                                               {Outcome::kKilled, "killed"},
                                               {Outcome::kHung, "hung"},
                                               {Outcome::kNotStarted, "not started"}};
constexpr std::span<const EnumWord<Outcome>> words_of(Outcome /*value*/) { return kOutcomeWords; }

// Where one of its processes was when it was given up.
struct ProcessStack {
  std::int64_t pid = 0;
  std::string role;
  std::string stack;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("pid", self.pid);
    fields("role", self.role);
    fields("stack", self.stack);
  }
};

// What every document has of a command that did not run to its end.
struct Failure {
  Outcome outcome = Outcome::kNotStarted;
  std::string why;
  int status = 0;  // as a shell has it
  std::vector<ProcessStack> stacks;
  std::string output;  // the last lines

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("outcome", self.outcome);
    fields("why", self.why);
    fields("status", self.status);
    fields("stacks", self.stacks);
    fields("output", self.output);
  }
};

}  // namespace anymps::lab::runbook::document
