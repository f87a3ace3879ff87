// The sanitiser's reports as JSON, as docs/cli.md has them.
#pragma once

#include <llvm/Support/JSON.h>

#include <span>

#include "metal/pipeline/validation.h"

namespace anymps::metal::tool {

llvm::json::Array json_of(std::span<const pipeline::ValidationReport> reports);

}  // namespace anymps::metal::tool
