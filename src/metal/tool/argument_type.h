// Of which type the elements of a kernel's buffer are.
#pragma once

#include <optional>

#include "metal/air/signature.h"
#include "metal/tool/element_type.h"

namespace anymps::metal::tool {

// Where the signature's name tells it.
std::optional<ElementType> element_type_of(const air::Argument& argument);

}  // namespace anymps::metal::tool
