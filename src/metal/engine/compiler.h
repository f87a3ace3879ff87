// From a kernel's bitcode to an object file for this CPU, with what is needed to run it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metal/air/signature.h"
#include "metal/lower/pipeline.h"
#include "metal/runtime/compiled_kernel.h"

namespace anymps::metal::engine {

// Lowers a kernel of a module that was read from AIR, for `target`. `instrumentation` is that of lower_kernel(). Throws
// KernelError or AirError.
lower::Lowered lower_module(llvm::Module& module, const std::string& name, const lower::LoweringOptions& options,
                            llvm::TargetMachine& target,
                            lower::support::PassInstrumentation* instrumentation = nullptr);

// Reads, lowers and compiles, without looking at any cache. Throws KernelError or AirError.
runtime::CompiledKernel compile_kernel(std::span<const std::byte> bitcode, const std::string& name,
                                       const lower::LoweringOptions& options);

// The same through the cache of this process and its disk.
runtime::CompiledKernel cached_kernel(std::span<const std::byte> bitcode, const std::string& name,
                                      const lower::LoweringOptions& options);

// A compiled kernel as bytes; nothing for bytes that are none.
std::vector<std::byte> pack(const runtime::CompiledKernel& kernel);
std::optional<runtime::CompiledKernel> unpack(std::span<const std::byte> bytes);

}  // namespace anymps::metal::engine
