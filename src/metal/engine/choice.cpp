// Which engine runs a kernel (make_chosen_pipeline).
#include <cstdlib>
#include <string_view>

#include "metal/engine/compiler.h"
#include "metal/engine/reports.h"
#include "metal/interpret/interpreter.h"
#include "metal/pipeline.h"

namespace anymps::metal {

std::shared_ptr<Pipeline> make_chosen_pipeline(const FunctionEntry& function, const lower::ConstantValues& constants) {
  if (engine::validation_wanted()) return make_pipeline(function, {.constants = constants, .validate = true});
  const char* variable = std::getenv("ANYMPS_METAL_ENGINE");
  const std::string_view name = variable == nullptr ? "" : variable;
  if (name.empty()) return make_tiered_pipeline(function, {.constants = constants});
  if (name == "oracle") return make_pipeline(function, {.constants = constants});
  if (name == "simd") return make_pipeline(function, {.constants = constants, .simdgroups = lower::Simdgroups::kWhole});
  if (name == "specialised") {
    return make_specialised_pipeline(function, {.constants = constants, .simdgroups = lower::Simdgroups::kWhole});
  }
  if (name == "coroutines") return make_pipeline(function, {.constants = constants, .force_coroutines = true});
  if (name == "interpreter") return interpret::make_interpreter(function, constants);
  throw engine::KernelError(function.name + ": ANYMPS_METAL_ENGINE=" + std::string(name) +
                            " names no engine; there are simd, specialised, oracle, coroutines and interpreter");
}

}  // namespace anymps::metal
