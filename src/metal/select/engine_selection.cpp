// Which engine runs a kernel (chosen_engine).
#include "metal/select/engine_selection.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "metal/engine/compiler.h"
#include "metal/engine/make_pipeline.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/runtime/reports.h"
#include "metal/sandbox/boxed_pipeline.h"

namespace anymps::metal::select {

namespace {

using Options = lower::LoweringOptions;
using Made = std::shared_ptr<pipeline::Pipeline>;
using Values = abi::ConstantValues;

Made validated(const library::FunctionEntry& function, const Values& constants) {
  return engine::make_pipeline(function, {.constants = constants, .validate = true});
}
Made tiered(const library::FunctionEntry& function, const Values& constants) {
  return engine::make_tiered_pipeline(function, {.constants = constants});
}
Made oracle(const library::FunctionEntry& function, const Values& constants) {
  return engine::make_pipeline(function, {.constants = constants});
}
Options by_lanes(const Values& constants) {
  return {.constants = constants, .simdgroups = lower::vectorize::Simdgroups::kWhole};
}
Made simd(const library::FunctionEntry& function, const Values& constants) {
  return engine::make_pipeline(function, by_lanes(constants));
}
Made specialised(const library::FunctionEntry& function, const Values& constants) {
  return engine::make_specialised_pipeline(function, by_lanes(constants));
}
Made coroutines(const library::FunctionEntry& function, const Values& constants) {
  return engine::make_pipeline(function, {.constants = constants, .force_coroutines = true});
}

Made boxed(const library::FunctionEntry& function, const Values& constants) {
  return sandbox::make_boxed_pipeline(function, constants, chosen_engine_name(function.name));
}

struct NamedEngine {
  std::string_view name;
  Engine engine;
};
constexpr std::array kEngines = {
    NamedEngine{"", tiered},
    NamedEngine{"oracle", oracle},
    NamedEngine{"simd", simd},
    NamedEngine{"specialised", specialised},
    NamedEngine{"coroutines", coroutines},
    NamedEngine{"interpreter", interpret::make_interpreter},
    NamedEngine{"validated", validated},
};

}  // namespace

Engine engine_named(std::string_view name) {
  const auto found = std::ranges::find(kEngines, name, &NamedEngine::name);
  return found == kEngines.end() ? nullptr : found->engine;
}

std::string chosen_engine_name(const std::string& kernel) {
  if (runtime::validation_wanted()) return "validated";
  const char* variable = std::getenv("ANYMPS_METAL_ENGINE");
  std::string name = variable == nullptr ? "" : variable;
  if (name != "validated" && engine_named(name) != nullptr) return name;
  throw pipeline::KernelError(kernel + ": ANYMPS_METAL_ENGINE=" + name +
                              " names no engine; there are simd, specialised, oracle, coroutines and interpreter");
}

Engine chosen_engine(const std::string& kernel) {
  const std::string name = chosen_engine_name(kernel);
  return sandbox::wanted() ? boxed : engine_named(name);
}

std::shared_ptr<pipeline::Pipeline> make_chosen_pipeline(const library::FunctionEntry& function,
                                                         const abi::ConstantValues& constants) {
  return chosen_engine(function.name)(function, constants);
}

}  // namespace anymps::metal::select
