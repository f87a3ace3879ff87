// Which operators PyTorch's own tests expect to fail on a Mac, though the operator is there and raises nothing of its
// own. The facts lie in data/known_failures, a table for each release, come from the lists in PyTorch's wheels
// (tools/known_failures.py), and are compiled in. What is refused anyway (operator_history.h, data/refusals.txt) has no
// row.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gpu/history/mac_profile.h"

namespace anymps::gpu::history {

enum class FailureOutcome : char {
  kRefuses,    // raises
  kDiffers,    // computes another number than the CPU, or rounds otherwise
  kFails,      // one of the two; PyTorch does not say which
  kUndefined,  // neither number is wrong: the order of equal elements, say
  kUntested,   // PyTorch skips the test, for a failure that once was: too weak for more than a note
};
std::string_view to_text(FailureOutcome outcome);  // "refuses"

enum class FailurePass : char { kForward, kBackward };

struct KnownFailure {
  std::string_view release;  // "2.13", whose table it is of
  std::string_view name;     // "sort", without namespace and overload; may be an operator that is made of others
  std::string_view variant;  // what PyTorch's tests call the case, or empty
  std::string_view dtypes;   // "float16,bfloat16" as PyTorch names them, or "*"
  FailurePass pass;          // kBackward: where gradients flow through the operator of this name
  std::optional<MacosVersion> before_macos;  // only below this version
  FailureOutcome outcome;
  std::string_view reason;  // a few words, or empty where PyTorch gives none

  bool concerns(std::string_view dtype) const;  // "float16"
  bool concerns(MacosVersion macos) const { return !before_macos || macos < *before_macos; }
};

// The rows of a release ("2.13.1+cpu"), by name: of the newest table that is not newer, else of the oldest. And those
// of an operator, which is named without namespace and overload: "sort".
std::span<const KnownFailure> known_failures(std::string_view release);
std::span<const KnownFailure> known_failures(std::string_view release, std::string_view operator_name);

}  // namespace anymps::gpu::history
