// torch.mps.profiler.metal_capture: launches of Metal kernels, written down so that they can be run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/shaders/shader_launch.h"

namespace anymps::backend::shaders {

// Where MTL_CAPTURE_ENABLED is set, as on a Mac.
bool capture_is_enabled();
bool is_capturing() noexcept;

// Into the folder NUMBER-NAME.gputrace, as PyTorch names it. Throws c10::Error.
void start_capture(const std::string& name);
// Nothing where none is begun. Throws what kernels left behind (AcceleratorError), after the capture was closed.
void stop_capture();

// A kernel may be given an address in this memory among its values.
void note_reachable(const metal::capture::Memory& memory);

// Around one launch, where is_capturing(). A folder that cannot be written to ends the capture, with a warning, and not
// the launch.
class CapturedRun {
 public:
  CapturedRun(const PipelineHandle& pipeline, const Encoding& encoding, const metal::pipeline::Size& threads,
              const metal::pipeline::Size& group);
  // What the launch left is there.
  void end();

 private:
  std::shared_ptr<metal::capture::Capture> capture_;  // null where the capture has ended
  std::size_t number_ = 0;
  std::uint64_t began_ns_ = 0;
};

}  // namespace anymps::backend::shaders
