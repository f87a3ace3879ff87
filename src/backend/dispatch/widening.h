// Widening: an operator that the CPU lacks for a narrow type, and a Mac has, is computed in a wider one.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string_view>

namespace anymps::backend::dispatch {

constexpr std::uint64_t dtype_bit(c10::ScalarType dtype) { return std::uint64_t{1} << static_cast<unsigned>(dtype); }

struct OperatorWidening;

// Which types one operator is computed in. Sets of types are bits by dtype_bit().
class Widening {
 public:
  // The operator's name, without namespace and overload.
  explicit Widening(std::string_view name);

  // The type to compute in; the type itself where there is no wider one to go to.
  c10::ScalarType wider(c10::ScalarType dtype) const;

  // Types that have somewhere wider to go, should the CPU's kernel refuse them.
  std::uint64_t candidates() const { return candidates_; }

  // Types that go there unasked, because the CPU's kernel for them is worse than a Mac's.
  std::uint64_t always() const { return always_; }

 private:
  const OperatorWidening* own_ = nullptr;
  std::uint64_t candidates_ = 0;
  std::uint64_t always_ = 0;
};

// Calls the operator's CPU kernel on the arguments on top of the stack, all CPU tensors, with narrow tensors and
// `dtype` arguments replaced by wider ones; results, and arguments that were written to, come back in their own types.
void call_widened(const c10::OperatorHandle& op, const Widening& widening, torch::jit::Stack* stack);

}  // namespace anymps::backend::dispatch
