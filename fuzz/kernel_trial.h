// Runs a program with every engine on the same buffers, and says where they disagree.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernel_program.h"

namespace anymps::fuzz {

enum class Engine { kInterpreter, kOracle, kSimd };
const char* name_of(Engine engine);

struct Disagreement {
  std::string who;   // "oracle and simd", or an engine that refused it
  std::string what;  // the first element that differs, or what was said
  std::string text() const { return who + ": " + what; }
};

struct Trial {
  bool compiles = false;
  std::string refusal;         // what the compiler of source said
  std::string not_vectorized;  // why it was not run many lanes at once
  std::optional<Disagreement> disagreement;
};

// A source whose first line says how to launch it (kernel_program.h).
Trial try_kernel(const std::string& source);

// What the sanitiser says of a source; empty where it finds nothing.
std::string faults_of(const std::string& source);

}  // namespace anymps::fuzz
