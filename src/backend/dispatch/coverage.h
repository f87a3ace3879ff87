// Coverage: the operators that PyTorch's own MPS backend has in the version that this library was built for.
// The facts lie in data/coverage/ and are compiled in.
#pragma once

#include <c10/core/DispatchKey.h>

#include <span>

namespace anymps::backend::dispatch {

// What PyTorch's MPS kernels say to a tensor of the CPU among their arguments. (Its generated code, which checks
// devices for CUDA before a kernel is called, does not do so for MPS.)
enum class DeviceCheck {
  kIterator,     // TensorIterator's text; scalars of the CPU pass
  kPlaceholder,  // the text of the class that brings tensors into a Metal graph
  kNone,         // nothing: a fallback to the CPU takes any mixture
};

struct CoveredOperator {
  c10::DispatchKey key;
  const char* name;  // "add.Tensor", without namespace
  DeviceCheck check;
};

std::span<const CoveredOperator> covered_operators();

}  // namespace anymps::backend::dispatch
