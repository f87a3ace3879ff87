#include "metal/pipeline/pipeline.h"

#include <cstdint>
#include <optional>
#include <string>

#include "metal/pipeline/kernel_error.h"

namespace anymps::metal::pipeline {
namespace {

// Nothing where 64 bits do not hold it.
std::optional<std::uint64_t> volume_of(Size extent) {
  std::uint64_t volume = 1;
  for (const std::uint32_t side : extent) {
    if (__builtin_mul_overflow(volume, std::uint64_t{side}, &volume)) return std::nullopt;
  }
  return volume;
}

std::string count_text(Size extent) {
  if (const auto volume = volume_of(extent)) return std::to_string(*volume);
  return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " + std::to_string(extent[2]);
}

}  // namespace

// The text is Metal's own, which programs may match on.
void Pipeline::check_threadgroup_memory(const air::Signature& signature) {
  if (signature.static_threadgroup_bytes <= kMostThreadgroupBytes) return;
  throw KernelError(signature.kernel + ": Threadgroup memory size (" +
                    std::to_string(signature.static_threadgroup_bytes) +
                    ") exceeds the maximum threadgroup memory allowed (" + std::to_string(kMostThreadgroupBytes) + ")");
}

void Pipeline::check_launch(Size threads, Size group) const {
  const auto size = volume_of(group);
  if (!size || *size == 0 || *size > max_threads_per_threadgroup()) {
    throw KernelError(signature().kernel + ": a threadgroup of " + count_text(group) + " threads; it takes 1 to " +
                      std::to_string(max_threads_per_threadgroup()));
  }
  if (!volume_of(threads)) {
    throw KernelError(signature().kernel + ": a grid of " + count_text(threads) + " threads, more than can be counted");
  }
}

}  // namespace anymps::metal::pipeline
