#include "gpu/history/known_failures.h"

#include <algorithm>

namespace anymps::gpu::history {
namespace {

constexpr KnownFailure kFailures[] = {
#include "known_failures.inc"
};

}  // namespace

std::string_view to_text(FailureOutcome outcome) {
  switch (outcome) {
    case FailureOutcome::kRefuses:
      return "refuses";
    case FailureOutcome::kDiffers:
      return "differs";
    case FailureOutcome::kFails:
      return "fails";
    case FailureOutcome::kUndefined:
      return "undefined";
    case FailureOutcome::kUntested:
      return "untested";
  }
  return "";
}

bool KnownFailure::concerns(std::string_view dtype) const {
  if (dtypes == "*") return true;
  for (std::string_view rest = dtypes; !rest.empty();) {
    const std::string_view first = rest.substr(0, rest.find(','));
    if (first == dtype) return true;
    rest.remove_prefix(std::min(first.size() + 1, rest.size()));
  }
  return false;
}

std::span<const KnownFailure> known_failures() { return kFailures; }

std::span<const KnownFailure> known_failures(std::string_view operator_name) {
  const auto found = std::ranges::equal_range(kFailures, operator_name, {}, &KnownFailure::name);
  return {found.begin(), found.end()};
}

}  // namespace anymps::gpu::history
