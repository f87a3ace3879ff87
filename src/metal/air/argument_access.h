// What a kernel may do with its arguments.
#pragma once

#include "metal/air/signature.h"

namespace anymps::metal::air {

constexpr bool may_be_written(const Argument& argument) {
  return argument.address_space == kDeviceSpace && argument.access != Access::kRead;
}

}  // namespace anymps::metal::air
