// Which operators went wrong on MPS with tensors that are not contiguous, in which releases, and where PyTorch's users
// reported it. The facts lie in data/contiguity.tsv, each with its issue, and are compiled in.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gpu/history/mac_profile.h"

namespace anymps::gpu::history {

enum class StridedArgument : char {
  kInput,   // a tensor that is read
  kOutput,  // one that is written: out=, or the tensor of an in-place operator
};

enum class StridedLayout : char {
  kAny,              // whatever is not contiguous
  kChannelsLast,     // only what is contiguous in channels_last
  kNotChannelsLast,  // whatever is not contiguous, and not in channels_last either
};

struct ContiguityHistory {
  std::string_view name;  // "addcdiv_", without namespace and overload; may be an operator that is made of others
  StridedArgument argument;
  std::string_view argument_name;  // only this one, as the operator's schema names it ("weight"); empty: any
  StridedLayout layout;
  unsigned issue;           // or pull request, of github.com/pytorch/pytorch
  std::string_view since;   // the first release with the fault, "2.8.0"; empty: not known
  std::string_view mended;  // the first release without it; "open" where none is known
  std::optional<MacosVersion> from_macos;
  std::optional<MacosVersion> before_macos;
  std::string_view fault;  // in a few words

  bool concerns(MacosVersion macos) const;
  bool concerns(std::string_view release) const;  // "2.8.0"
};

// All rows, by name; an operator has one at most.
std::span<const ContiguityHistory> contiguity_histories();

// The operator's row where it concerns the release; else null. The operator is named without namespace and overload.
// Whether the row concerns the macOS is left to the caller.
const ContiguityHistory* contiguity_history(std::string_view operator_name, std::string_view release);

}  // namespace anymps::gpu::history
