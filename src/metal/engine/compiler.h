// From a kernel's bitcode to an object file for this CPU, with what is needed to run it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "metal/air/signature.h"
#include "metal/lower/kernel.h"

namespace anymps::metal::engine {

// Why a kernel cannot be run here. The text begins with its name.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CompiledKernel {
  lower::Route route = lower::Route::kThreadLoop;
  bool meets = false;  // as in lower::Lowered
  std::string declined;
  lower::ThreadgroupLayout threadgroup;
  std::vector<MeetingPoint> points;
  lower::ValidationTable validation;
  std::vector<std::byte> object;
};

// Where in Metal's two tables, buffers and threadgroup memory, a binding lies in the one array that kernels read.
constexpr unsigned kSlots = 2 * kMaxBindings;
constexpr unsigned slot_of(ArgumentKind kind, unsigned binding) {
  return kind == ArgumentKind::kThreadgroupBuffer ? kMaxBindings + binding : binding;
}

// Reads, lowers and compiles, without looking at any cache. Throws KernelError or AirError.
CompiledKernel compile_kernel(std::span<const std::byte> bitcode, const std::string& name,
                              const lower::LoweringOptions& options);

// The same through the cache of this process and its disk.
CompiledKernel cached_kernel(std::span<const std::byte> bitcode, const std::string& name,
                             const lower::LoweringOptions& options);

// A compiled kernel as bytes; nothing for bytes that are none.
std::vector<std::byte> pack(const CompiledKernel& kernel);
std::optional<CompiledKernel> unpack(std::span<const std::byte> bytes);

}  // namespace anymps::metal::engine
