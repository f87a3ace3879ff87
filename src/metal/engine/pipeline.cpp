#include "metal/pipeline.h"

#include "metal/engine/compiler.h"

namespace anymps::metal {

// The text is Metal's own, which programs may match on.
void Pipeline::check_threadgroup_memory(const Signature& signature) {
  if (signature.static_threadgroup_bytes <= kMostThreadgroupBytes) return;
  throw engine::KernelError(
      signature.kernel + ": Threadgroup memory size (" + std::to_string(signature.static_threadgroup_bytes) +
      ") exceeds the maximum threadgroup memory allowed (" + std::to_string(kMostThreadgroupBytes) + ")");
}

void Pipeline::check_threadgroup(Size group) const {
  const std::uint64_t size = std::uint64_t{group[0]} * group[1] * group[2];
  if (size != 0 && size <= max_threads_per_threadgroup()) return;
  throw engine::KernelError(signature().kernel + ": a threadgroup of " + std::to_string(size) +
                            " threads; it takes 1 to " + std::to_string(max_threads_per_threadgroup()));
}

}  // namespace anymps::metal
