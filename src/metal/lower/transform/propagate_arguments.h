// Fixes a kernel to what its buffers are known to hold.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "metal/lower/support/kernel_parameter.h"

namespace llvm {
class Function;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// What buffers hold, by binding, for a kernel that is launched with nothing else.
using ArgumentValues = std::map<unsigned, std::vector<std::byte>>;
void propagate_arguments(llvm::Function& kernel, std::span<const support::Parameter> parameters,
                         const ArgumentValues& known);

}  // namespace anymps::metal::lower::transform
