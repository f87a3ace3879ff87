// Coverage: the operators that PyTorch's own MPS backend has in the version that this library was built for.
// The facts lie in data/coverage/ and are compiled in.
#pragma once

#include <c10/core/DispatchKey.h>

#include <span>

namespace anymps::backend {

// How PyTorch's generated code checks that all arguments are on one device.
enum class DeviceCheck {
  kNocheck,     // the kernel itself does, by TensorIterator
  kCheck,       // the wrapper does, in the order of the arguments
  kStructured,  // as kCheck, and the wrapper's name in the message carries no overload
  kNone,        // nobody does: a fallback to the CPU takes any mixture
};

struct CoveredOperator {
  c10::DispatchKey key;
  const char* name;  // "add.Tensor", without namespace
  DeviceCheck check;
};

std::span<const CoveredOperator> covered_operators();

}  // namespace anymps::backend
