#include "gpu/history/contiguity_history.h"

#include <algorithm>

#include "gpu/history/release_number.h"

namespace anymps::gpu::history {
namespace {

constexpr ContiguityHistory kContiguityHistories[] = {
#include "contiguity_history.inc"
};

}  // namespace

bool ContiguityHistory::concerns(MacosVersion macos) const {
  return (!from_macos || macos >= *from_macos) && (!before_macos || macos < *before_macos);
}

bool ContiguityHistory::concerns(std::string_view release) const {
  const auto number = release_number(release);
  return number >= release_number(since) && (mended == "open" || number < release_number(mended));
}

std::span<const ContiguityHistory> contiguity_histories() { return kContiguityHistories; }

const ContiguityHistory* contiguity_history(std::string_view operator_name, std::string_view release) {
  const auto* const found = std::ranges::lower_bound(kContiguityHistories, operator_name, {}, &ContiguityHistory::name);
  const bool is_there = found != std::end(kContiguityHistories) && found->name == operator_name;
  return is_there && found->concerns(release) ? found : nullptr;
}

}  // namespace anymps::gpu::history
