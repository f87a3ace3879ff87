// A library by its file's name, and a function in it by its own.
#pragma once

#include <span>
#include <string>

#include "metal/frontend/source.h"
#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// How a file of Metal source is compiled; its folder may be included from without being named.
using frontend::SourceOptions;

struct OpenedLibrary {
  library::Metallib library;
  std::string warnings;  // of the compiler
};

// Whether open_library() reads other files than this one: it is source that includes some. Throws RequestError.
bool reads_other_files(const std::string& file, const SourceOptions& options);

// Every request of tool.h comes to its functions here. A file that ends in .metal is compiled; where kernels are named,
// only these of it. Throws MetallibError or RequestError, whose text begins with the file's name, or
// frontend::CompileError.
OpenedLibrary open_library(const std::string& file, const SourceOptions& options,
                           std::span<const std::string> kernels = {});

// Throws MetallibError with the nearest name where there is none.
const library::FunctionEntry& find_function(const library::Metallib& library, const std::string& file,
                                            const std::string& name);

}  // namespace anymps::metal::tool
