// Widening: an operator that the CPU lacks for a narrow type, and a Mac has, is computed in a wider one.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/ScalarType.h>

#include <cstddef>

namespace anymps::backend {

// The type to compute in; the type itself where there is no wider one to go to.
c10::ScalarType wider(c10::ScalarType dtype);

// Calls the operator's CPU kernel on the arguments on top of the stack, all CPU tensors, with narrow tensors and `dtype`
// arguments replaced by wider ones; results, and arguments that were written to, come back in their own types.
void call_widened(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace anymps::backend
