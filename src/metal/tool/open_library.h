// A library by its file's name, and a function in it by its own.
#pragma once

#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal {

// Every request of tool.h comes to its functions here; this is where a file of Metal source will be compiled. Throws
// MetallibError, whose text begins with the file's name.
Metallib open_library(const std::string& file);

// Throws MetallibError with the nearest name where there is none.
const FunctionEntry& find_function(const Metallib& library, const std::string& file, const std::string& name);

}  // namespace anymps::metal
