// Metal source to a module of AIR functions, by Clang.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anymps::metal::frontend {

struct SourceOptions {
  std::string name = "program_source";  // of the source, in messages
  unsigned version = 400;               // as __METAL_VERSION__: 400 is Metal 4.0
  bool fast_math = false;
  std::vector<std::string> folders;                          // that may be included from
  std::vector<std::pair<std::string, std::string>> defines;  // macros
};

// The text is what the compiler said, errors and warnings, in the form that Metal's has.
struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CompiledSource {
  std::vector<std::string> kernels;
  std::string warnings;
  std::vector<std::byte> module;  // bitcode, not optimised; extract_kernel() makes a kernel of it
};

// Throws CompileError. Any thread may call it. Source that takes too much time or memory is an error.
CompiledSource compile_source(std::string_view source, const SourceOptions& options);

}  // namespace anymps::metal::frontend
