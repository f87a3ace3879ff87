// The engines by their names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "metal/abi/constant_values.h"
#include "metal/library/metallib.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::select {

// What makes pipelines.
using Engine = std::shared_ptr<pipeline::Pipeline> (*)(const library::FunctionEntry& function,
                                                       const abi::ConstantValues& constants);

// make_tiered_pipeline(), or the engine that ANYMPS_METAL_ENGINE names: "simd", many lanes at once, "specialised", the
// same as make_specialised_pipeline(), "oracle", which is make_pipeline(), "coroutines", which has no thread loops, or
// "interpreter" (interpret/interpreter.h). To compare engines launch by launch. With ANYMPS_VALIDATE every launch is
// validated, by the first of these; with ANYMPS_SANDBOX the engine is in another process (sandbox/boxed_pipeline.h).
// Throws pipeline::KernelError, for `kernel`, where it names none.
Engine chosen_engine(const std::string& kernel);

// By that engine.
std::shared_ptr<pipeline::Pipeline> make_chosen_pipeline(const library::FunctionEntry& function,
                                                         const abi::ConstantValues& constants);

// The name of what chosen_engine() takes where there is no sandbox: a value of ANYMPS_METAL_ENGINE, nothing for the
// usual one, or "validated". Throws as chosen_engine() does.
std::string chosen_engine_name(const std::string& kernel);

// Null where there is none of this name.
Engine engine_named(std::string_view name);

}  // namespace anymps::metal::select
