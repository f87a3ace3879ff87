// Compiles kernels for this CPU.
#pragma once

#include <memory>

#include "metal/library/metallib.h"
#include "metal/lower/pipeline.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::engine {

// Compiles, or finds it compiled. Throws pipeline::KernelError or AirError.
std::shared_ptr<pipeline::Pipeline> make_pipeline(const library::FunctionEntry& function,
                                                  const lower::LoweringOptions& options);

// The same in less than half the time, with code that runs each thread by itself; what make_pipeline() makes follows
// when launches have taken a while, or one is large. The results are the same to the bit.
std::shared_ptr<pipeline::Pipeline> make_tiered_pipeline(const library::FunctionEntry& function,
                                                         const lower::LoweringOptions& options);

// make_pipeline() for the values that each launch gives: waits for the compiler where they are new.
std::shared_ptr<pipeline::Pipeline> make_specialised_pipeline(const library::FunctionEntry& function,
                                                              const lower::LoweringOptions& options);

}  // namespace anymps::metal::engine
