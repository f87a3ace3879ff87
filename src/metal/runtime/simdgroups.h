// Which of a kernel's forms for many lanes at once a launch takes.
#pragma once

#include <array>
#include <cstdint>

#include "metal/abi/cooperative_op.h"
#include "metal/lower/vectorize/vectorizer.h"

namespace anymps::metal::runtime {

inline lower::vectorize::Simdgroups simdgroups_of(std::array<std::uint32_t, 3> threads,
                                                  std::array<std::uint32_t, 3> group) {
  if (threads[0] % abi::kLanes == 0 && group[0] % abi::kLanes == 0) return lower::vectorize::Simdgroups::kWhole;
  if (group[0] == 1 && group[1] > 1 && group[2] == 1) {
    const bool whole = threads[1] % abi::kLanes == 0 && group[1] % abi::kLanes == 0;
    return whole ? lower::vectorize::Simdgroups::kColumn : lower::vectorize::Simdgroups::kAnyColumn;
  }
  std::uint64_t size = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (group[i] == 0) return lower::vectorize::Simdgroups::kAny;  // which the launch refuses
    if (threads[i] % group[i] != 0) return lower::vectorize::Simdgroups::kAny;
    size *= group[i];
  }
  if (size % abi::kLanes != 0) return lower::vectorize::Simdgroups::kAny;
  return group[0] % lower::vectorize::kFewLanes == 0 ? lower::vectorize::Simdgroups::kShort
                                                     : lower::vectorize::Simdgroups::kFolded;
}

}  // namespace anymps::metal::runtime
