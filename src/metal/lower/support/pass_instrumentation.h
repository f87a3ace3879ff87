// The passes by their names, and who is told when one has run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace llvm {
class Module;
}

namespace anymps::metal::lower::support {

enum class Pass : std::uint8_t {
#define LOWERING_PASS(constant, name, text) constant,
#include "metal/lower/support/passes.def"
#undef LOWERING_PASS
};

struct PassDescription {
  std::string_view name;
  std::string_view text;
};

// By Pass.
inline constexpr std::array kPasses = {
#define LOWERING_PASS(constant, name, text) PassDescription{name, text},
#include "metal/lower/support/passes.def"
#undef LOWERING_PASS
};

constexpr std::string_view name_of(Pass pass) { return kPasses[static_cast<std::size_t>(pass)].name; }

constexpr std::optional<Pass> pass_named(std::string_view name) {
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    if (kPasses[i].name == name) return static_cast<Pass>(i);
  }
  return std::nullopt;
}

// Thrown out of lowering where it is to stop. The module is as the last pass left it.
struct LoweringStopped {};

class PassInstrumentation {
 public:
  virtual ~PassInstrumentation() = default;
  virtual void before(Pass pass) = 0;
  // False where lowering is to stop here. A pass may run more than once.
  virtual bool after(Pass pass, const llvm::Module& module) = 0;
};

}  // namespace anymps::metal::lower::support
