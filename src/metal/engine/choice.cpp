// Which engine runs a kernel (chosen_engine).
#include <cstdlib>
#include <string_view>

#include "metal/engine/compiler.h"
#include "metal/engine/reports.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline.h"

namespace anymps::metal {

namespace {

using Options = lower::LoweringOptions;
using Made = std::shared_ptr<Pipeline>;
using Values = lower::ConstantValues;

Made validated(const FunctionEntry& function, const Values& constants) {
  return make_pipeline(function, {.constants = constants, .validate = true});
}
Made tiered(const FunctionEntry& function, const Values& constants) {
  return make_tiered_pipeline(function, {.constants = constants});
}
Made oracle(const FunctionEntry& function, const Values& constants) {
  return make_pipeline(function, {.constants = constants});
}
Options by_lanes(const Values& constants) { return {.constants = constants, .simdgroups = lower::Simdgroups::kWhole}; }
Made simd(const FunctionEntry& function, const Values& constants) {
  return make_pipeline(function, by_lanes(constants));
}
Made specialised(const FunctionEntry& function, const Values& constants) {
  return make_specialised_pipeline(function, by_lanes(constants));
}
Made coroutines(const FunctionEntry& function, const Values& constants) {
  return make_pipeline(function, {.constants = constants, .force_coroutines = true});
}

}  // namespace

Engine chosen_engine(const std::string& kernel) {
  if (engine::validation_wanted()) return validated;
  const char* variable = std::getenv("ANYMPS_METAL_ENGINE");
  const std::string_view name = variable == nullptr ? "" : variable;
  if (name.empty()) return tiered;
  if (name == "oracle") return oracle;
  if (name == "simd") return simd;
  if (name == "specialised") return specialised;
  if (name == "coroutines") return coroutines;
  if (name == "interpreter") return interpret::make_interpreter;
  throw engine::KernelError(kernel + ": ANYMPS_METAL_ENGINE=" + std::string(name) +
                            " names no engine; there are simd, specialised, oracle, coroutines and interpreter");
}

std::shared_ptr<Pipeline> make_chosen_pipeline(const FunctionEntry& function, const lower::ConstantValues& constants) {
  return chosen_engine(function.name)(function, constants);
}

}  // namespace anymps::metal
