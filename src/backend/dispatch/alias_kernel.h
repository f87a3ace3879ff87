// AliasKernel: the boxed kernel that runs any operator on the CPU's kernels (see alias.h).
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>
#include <torch/library.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/dispatch/coverage.h"
#include "backend/dispatch/known_results.h"

namespace anymps::backend::dispatch {

// Where the call goes on.
enum class AliasTarget {
  kCpuKernel,   // straight to the kernel in the operator's CPU slot
  kDispatcher,  // through the dispatcher, by the aliases' own keys: layouts other than strided
};

class AliasKernel : public c10::OperatorKernel {
 public:
  AliasKernel(AliasTarget target, DeviceCheck check);
  ~AliasKernel() override;

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 protected:
  // The operator on CPU tensors, when its turn has come.
  virtual void compute(const c10::OperatorHandle& op, torch::jit::Stack* stack);

 private:
  struct Facts;
  const Facts& facts(const c10::OperatorHandle& op);
  // The same later, on the device's thread: its results take the arguments' place on the stack.
  void queue(const KnownCall& kind, const c10::OperatorHandle& op, const Facts& facts, torch::jit::Stack* stack);
  void learn(std::string_view key, c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<c10::IValue> results);

  AliasTarget target_;
  DeviceCheck check_;
  // Read from the schema at the first call: the registrations at start-up must stay cheap.
  std::atomic<const Facts*> facts_{nullptr};
  // Bit n: the CPU kernel has refused ScalarType n, so go to a wider type at once.
  std::atomic<std::uint64_t> widened_{0};
  KnownResults known_results_;
};

torch::CppFunction alias_function(AliasTarget target, DeviceCheck check);

}  // namespace anymps::backend::dispatch
