#include "metal/pipeline.h"

#include "metal/engine/compiler.h"

namespace anymps::metal {

void Pipeline::check_threadgroup(Size group) const {
  const std::uint64_t size = std::uint64_t{group[0]} * group[1] * group[2];
  if (size != 0 && size <= max_threads_per_threadgroup()) return;
  throw engine::KernelError(signature().kernel + ": a threadgroup of " + std::to_string(size) +
                            " threads; it takes 1 to " + std::to_string(max_threads_per_threadgroup()));
}

}  // namespace anymps::metal
