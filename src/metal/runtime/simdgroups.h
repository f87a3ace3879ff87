// Which of a kernel's forms for many lanes at once a launch takes.
#pragma once

#include <array>
#include <cstdint>

#include "metal/engine/meeting.h"
#include "metal/lower/simd.h"

namespace anymps::metal::engine {

inline lower::Simdgroups simdgroups_of(std::array<std::uint32_t, 3> threads, std::array<std::uint32_t, 3> group) {
  if (threads[0] % kLanes == 0 && group[0] % kLanes == 0) return lower::Simdgroups::kWhole;
  if (group[0] == 1 && group[1] > 1 && group[2] == 1) {
    const bool whole = threads[1] % kLanes == 0 && group[1] % kLanes == 0;
    return whole ? lower::Simdgroups::kColumn : lower::Simdgroups::kAnyColumn;
  }
  std::uint64_t size = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (group[i] == 0) return lower::Simdgroups::kAny;  // which the launch refuses
    if (threads[i] % group[i] != 0) return lower::Simdgroups::kAny;
    size *= group[i];
  }
  if (size % kLanes != 0) return lower::Simdgroups::kAny;
  return group[0] % lower::kFewLanes == 0 ? lower::Simdgroups::kShort : lower::Simdgroups::kFolded;
}

}  // namespace anymps::metal::engine
