// Pipelines whose kernels are compiled and run in the sandbox (box.h): a kernel reaches the buffers of its launch, and
// nothing else of this process.
#pragma once

#include <memory>
#include <string>

#include "metal/pipeline.h"

namespace anymps::metal::sandbox {

// What ANYMPS_SANDBOX asks for.
bool wanted();

// By the engine of that name (engine/choice.h). The bitcode is read there, too. Throws engine::KernelError, also for a
// kernel that takes addresses of buffers.
//
// A launch copies its buffers into memory that the sandbox shares, and those that the kernel may write back again; two
// that overlap do so there, too. One whose length is not known is refused. A launch that takes longer than
// ANYMPS_SANDBOX_SECONDS (60) or ends the sandbox is an engine::KernelError with the kernel's name: its buffers are as
// they were, and the next launch has a sandbox again. Launches wait for each other.
std::shared_ptr<Pipeline> make_boxed_pipeline(const FunctionEntry& function, const lower::ConstantValues& constants,
                                              const std::string& engine);

}  // namespace anymps::metal::sandbox
