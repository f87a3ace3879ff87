// A kernel by itself: what it needs of its program's module, in one function, optimised as AIR is when it is shipped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace anymps::metal::frontend {

// `program` is the bitcode of a module with entries (emit/kernel_metadata.h). Throws CompileError (source.h) for what a
// GPU cannot run, and for what takes too much time or memory.
std::vector<std::byte> extract_kernel(std::span<const std::byte> program, const std::string& name);

// Of many, on all cores: faster than one after the other, as the program is not read whole for each. Throws what
// extract_kernel() throws for the first that fails.
std::vector<std::vector<std::byte>> extract_kernels(std::span<const std::byte> program,
                                                    std::span<const std::string> names);

}  // namespace anymps::metal::frontend
