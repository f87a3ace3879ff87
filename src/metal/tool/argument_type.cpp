#include "metal/tool/argument_type.h"

namespace anymps::metal::tool {

std::optional<ElementType> element_type_of(const air::Argument& argument) {
  auto type = element_type(argument.type_name);
  // What Apple's compiler calls an atomic: of which type it does not say.
  if (argument.type_name == "metal::_atomic" && argument.size == 4) type = ElementType{Scalar::kU32};
  if (type && argument.size != 0 && type->stride() != argument.size) return std::nullopt;
  return type;
}

}  // namespace anymps::metal::tool
