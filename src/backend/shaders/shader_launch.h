// What PyTorch's class for Metal libraries keeps behind its opaque pointers, and a launch while it is being put
// together.
#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/metal/error.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "metal/plugin.h"

namespace anymps::backend::shaders {

struct PipelineHandle {
  std::shared_ptr<metal::pipeline::Pipeline> pipeline;
  std::shared_ptr<metal::pipeline::LoadedLibrary>
      library;                     // where it comes from; a kernel may outlive its library's object
  std::atomic<unsigned> uses = 1;  // threads that run one kernel each count themselves
};

// Of what PyTorch's classes hold as a pipeline state.
const metal::air::Signature& signature_of(void* state);

struct LibraryHandle {
  std::shared_ptr<metal::pipeline::LoadedLibrary> library;
};

inline metal::capture::Memory storage_of(const at::TensorBase& tensor) {
  return {static_cast<std::byte*>(const_cast<void*>(tensor.storage().data())), tensor.storage().nbytes()};
}

// One launch while its arguments are being set.
struct Encoding {
  metal::pipeline::Launch launch;
  std::deque<std::vector<std::byte>> bytes;  // of arguments that are passed by value; their addresses must not change
  std::unique_ptr<c10::metal::ErrorMessages> errors;
  std::array<metal::capture::Memory, metal::air::kMaxBindings>
      around{};  // the storages that arguments point into, where they do

  // `size`: how many bytes the kernel may touch from there on.
  void set(unsigned index, void* pointer, std::size_t size);
  // From `pointer` to the storage's end.
  void set_in_storage(unsigned index, void* pointer, const metal::capture::Memory& storage);
  void set_bytes(unsigned index, const void* bytes, std::size_t size);
};

// Throws for a grid that is too large.
std::uint32_t narrowed(std::uint64_t value);

void run(const PipelineHandle& state, Encoding& current, const metal::pipeline::Size& threads,
         const metal::pipeline::Size& group);

}  // namespace anymps::backend::shaders
