#include "gpu/history/known_failures.h"

#include <algorithm>

#include "gpu/history/release_number.h"

namespace anymps::gpu::history {
namespace {

// By release, and by name within one.
constexpr KnownFailure kFailures[] = {
#include "known_failures.inc"
};

std::string_view release_with_table(std::string_view release) {
  const auto asked = release_number(release);
  std::string_view found = kFailures[0].release;
  for (const KnownFailure& one : kFailures) {
    if (release_number(one.release) > asked) break;
    found = one.release;
  }
  return found;
}

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

std::span<const KnownFailure> known_failures(std::string_view release) {
  const auto found = std::ranges::equal_range(kFailures, release_number(release_with_table(release)), {},
                                              [](const auto& one) { return release_number(one.release); });
  return {found.begin(), found.end()};
}

std::span<const KnownFailure> known_failures(std::string_view release, std::string_view operator_name) {
  const auto found = std::ranges::equal_range(known_failures(release), operator_name, {}, &KnownFailure::name);
  return {found.begin(), found.end()};
}

}  // namespace anymps::gpu::history
