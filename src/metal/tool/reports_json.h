// The sanitiser's reports as JSON, as docs/cli.md has them.
#pragma once

#include <llvm/Support/JSON.h>

#include <span>

#include "metal/validation.h"

namespace anymps::metal {

llvm::json::Array json_of(std::span<const ValidationReport> reports);

}  // namespace anymps::metal
