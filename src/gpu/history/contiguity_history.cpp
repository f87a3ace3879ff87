#include "gpu/history/contiguity_history.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace anymps::gpu::history {
namespace {

constexpr ContiguityHistory kContiguityHistories[] = {
#include "contiguity_history.inc"
};

// "2.13.0" and "2.13.0+cpu" alike: as texts, 2.13 would be older than 2.4.
std::array<unsigned, 3> parts_of(std::string_view release) {
  std::array<unsigned, 3> parts{};
  const char* at = release.data();
  const char* const end = at + release.size();
  for (unsigned& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return parts;
}

}  // namespace

bool ContiguityHistory::concerns(MacosVersion macos) const {
  return (!from_macos || macos >= *from_macos) && (!before_macos || macos < *before_macos);
}

bool ContiguityHistory::concerns(std::string_view release) const {
  const auto parts = parts_of(release);
  return parts >= parts_of(since) && (mended == "open" || parts < parts_of(mended));
}

std::span<const ContiguityHistory> contiguity_histories() { return kContiguityHistories; }

const ContiguityHistory* contiguity_history(std::string_view operator_name, std::string_view release) {
  const auto* const found = std::ranges::lower_bound(kContiguityHistories, operator_name, {}, &ContiguityHistory::name);
  const bool is_there = found != std::end(kContiguityHistories) && found->name == operator_name;
  return is_there && found->concerns(release) ? found : nullptr;
}

}  // namespace anymps::gpu::history
