// What is wrong with kernels, as far as can be told without knowing what they are for.
#pragma once

#include <span>
#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// {"kernels": [{"name", "launches", "not_tried" or null, "findings": [...]} or {"name", "refusal"}]}: see docs/cli.md.
// Of each kernel: it is compiled, its code is looked at (lint/lint.h), and it is launched with the sanitiser (trial.h).
std::string check_as_json(std::span<const library::FunctionEntry> functions);

}  // namespace anymps::metal::tool
