#include "lab/metallib/batches.h"

#include <algorithm>

namespace anymps::lab::metallib {

void go_through(const MetalBatches& batches) {
  const std::size_t stride = batches.per_child * batches.step;
  for (std::size_t first = batches.from; first < batches.functions && !batches.interrupted(); first += stride) {
    const std::size_t end = std::min(first + stride, batches.functions);
    const bool answered = batches.take(first, batches.per_child);
    for (std::size_t i = first; i < end && !answered && !batches.interrupted(); i += batches.step) {
      if (!batches.take(i, 1) && !batches.interrupted()) batches.refuse(i);
    }
    batches.progress(end, batches.functions);
  }
}

}  // namespace anymps::lab::metallib
