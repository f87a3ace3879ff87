// Faults that can be seen in a kernel's code without running it. Each lint has a file of its own.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "metal/air/signature.h"
#include "metal/library/metallib.h"

namespace llvm {
class Function;
}

namespace anymps::metal::lint {

enum class Severity : std::uint8_t {
  kWarning,  // may be meant so
  kError,
};

inline constexpr char kUnguardedIndex[] = "unguarded index";
inline constexpr char kMissingBarrier[] = "missing barrier";

struct Finding {
  std::string lint;  // its name
  Severity severity = Severity::kWarning;
  std::string subject;  // the argument or variable
  std::string place;    // "file:line", or empty where the library has no debug information
  std::string text;     // one line
};

// A kernel with all that it calls inlined, and what it asks for.
struct Kernel {
  llvm::Function& function;
  const air::Signature& signature;
};

// A device buffer is written where thread_position_in_grid says, and nothing compares that with a bound: a launch of
// more threads than there are elements writes outside. A launch of as many is right, so this is a warning.
void find_unguarded_indices(const Kernel& kernel, std::vector<Finding>& findings);

// A thread writes to threadgroup memory, and another one reads that with no barrier between. Told only where it is
// certain which thread wrote what: an index of another form is let pass.
void find_missing_barriers(const Kernel& kernel, std::vector<Finding>& findings);

struct Lints {
  std::vector<Finding> findings;  // of all of them
  std::set<unsigned> loaded;      // parameters whose memory is read
};

// Throws AirError for a module that cannot be read.
Lints lint_kernel(const library::FunctionEntry& function);

}  // namespace anymps::metal::lint
