// Pipelines whose kernels are compiled and run in the sandbox (box.h): a kernel reaches the buffers of its launch, and
// nothing else of this process.
#pragma once

#include <memory>
#include <string>

#include "metal/abi/constant_values.h"
#include "metal/library/metallib.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::sandbox {

// What ANYMPS_SANDBOX asks for.
bool wanted();

// By the engine of that name (select/engine_selection.h). The bitcode is read there, too. Throws pipeline::KernelError,
// also for a kernel that takes addresses of buffers.
//
// A launch copies its buffers into memory that the sandbox shares, and those that the kernel may write back again; two
// that overlap do so there, too. One whose length is not known is refused. A launch that takes longer than
// ANYMPS_SANDBOX_SECONDS (60) or ends the sandbox is an pipeline::KernelError with the kernel's name: its buffers are
// as they were, and the next launch has a sandbox again. Launches wait for each other.
std::shared_ptr<pipeline::Pipeline> make_boxed_pipeline(const library::FunctionEntry& function,
                                                        const abi::ConstantValues& constants,
                                                        const std::string& engine);

}  // namespace anymps::metal::sandbox
