#include "backend/shaders/shader_launch.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "backend/observe/details.h"
#include "backend/runtime/device_errors.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/waits.h"
#include "backend/shaders/metal_capture.h"
#include "backend/shaders/metal_plugin.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::shaders {
namespace {

// What a kernel wrote into PyTorch's error buffer is an error that the next synchronisation finds.
void report_errors(const c10::metal::ErrorMessages& messages) {
  if (messages.count == 0) return;
  const c10::metal::ErrorMessage& first = messages.msg[0];
  runtime::report_error({first.message, first.func, first.file, first.line, {}});
}

}  // namespace

void Encoding::set(unsigned index, void* pointer, std::size_t size) {
  TORCH_CHECK(index < launch.buffers.size(), "Metal kernels have ", launch.buffers.size(), " places for arguments; ",
              index, " is beyond them");
  launch.buffers[index] = pointer;
  launch.buffer_bytes[index] = size;
  launch.by_value &= ~(std::uint32_t{1} << index);
  around[index] = {};
}

void Encoding::set_in_storage(unsigned index, void* pointer, const metal::capture::Memory& storage) {
  const auto before = static_cast<std::size_t>(static_cast<std::byte*>(pointer) - storage.base);
  set(index, pointer, storage.bytes - std::min(before, storage.bytes));
  around[index] = storage;
}

void Encoding::set_bytes(unsigned index, const void* given, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(given);
  bytes.emplace_back(first, first + size);
  set(index, bytes.back().data(), size);
  launch.by_value |= std::uint32_t{1} << index;
}

std::uint32_t narrowed(std::uint64_t value) {
  TORCH_CHECK(value <= UINT32_MAX, "A Metal grid has at most ", UINT32_MAX, " threads along an axis, not ", value);
  return static_cast<std::uint32_t>(value);
}

const metal::air::Signature& signature_of(void* state) {
  return static_cast<PipelineHandle*>(state)->pipeline->signature();
}

void run(const PipelineHandle& state, Encoding& current, const metal::pipeline::Size& threads,
         const metal::pipeline::Size& group) {
  metal::pipeline::Pipeline& pipeline = *state.pipeline;
  for (const std::uint32_t count : threads) {
    if (count == 0) return;
  }
  runtime::DeviceQueue::drain();
  current.launch.validate = launches_are_validated();
  current.launch.is_device_memory = &runtime::in_heap;
  std::optional<CapturedRun> captured;
  if (is_capturing()) captured.emplace(state, current, threads, group);
  const std::uint64_t began_ns = gpu::trace::Trace::detailed() ? gpu::trace::Trace::now_ns() : 0;
  try {
    pipeline.launch(current.launch, threads, group);
  } catch (const std::exception& error) {
    TORCH_CHECK(false, error.what());
  }
  runtime::DeviceWork::given();
  if (began_ns != 0) {
    observe::note_shader(pipeline.signature().kernel, std::uint64_t{threads[0]} * threads[1] * threads[2], began_ns);
  }
  if (captured) captured->end();
  if (current.errors) report_errors(*current.errors);
}

}  // namespace anymps::backend::shaders
