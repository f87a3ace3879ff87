// A library's functions as JSON.
#pragma once

#include <span>
#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// {"version": 1, "functions": [...]}; docs/cli.md names the fields. A kernel that cannot be read has `error` in place
// of its arguments, so that one does not hide the others.
std::string list_as_json(std::span<const library::FunctionEntry* const> functions);

}  // namespace anymps::metal::tool
