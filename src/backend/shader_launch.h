// What PyTorch's class for Metal libraries keeps behind its opaque pointers, and a launch while it is being put
// together.
#pragma once

#include <c10/metal/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "metal/door.h"

namespace anymps::backend {

struct PipelineHandle {
  std::shared_ptr<metal::Pipeline> pipeline;
  unsigned uses = 1;
};

struct LibraryHandle {
  std::unique_ptr<metal::LoadedLibrary> library;
};

// One launch while its arguments are being set.
struct Encoding {
  metal::Launch launch;
  std::deque<std::vector<std::byte>> bytes;  // of arguments that are passed by value; their addresses must not change
  std::unique_ptr<c10::metal::ErrorMessages> errors;

  // `size`: how many bytes the kernel may touch from there on.
  void set(unsigned index, void* pointer, std::size_t size);
  void set_bytes(unsigned index, const void* bytes, std::size_t size);
};

// Throws for a grid that is too large.
std::uint32_t narrowed(std::uint64_t value);

void run(metal::Pipeline& pipeline, Encoding& current, const metal::Size& threads, const metal::Size& group);

}  // namespace anymps::backend
