// Numbers as JSON.
#pragma once

#include <llvm/Support/JSON.h>

#include "metal/tool/element_type.h"

namespace anymps::metal::tool {

// With Metal's own words, as texts, for what JSON has none for: "nan", "inf", "-inf".
llvm::json::Value json_of(Number number);

}  // namespace anymps::metal::tool
