// ElementwiseChain: elementwise operators that wait in the queue one behind the other, run together. All of them go
// over one part of the elements, small enough for the cache, before they go over the next, so that memory is read and
// written once for the chain and not once for each operator. A result that nobody else has any more is not written to
// memory at all.
//
// Each element is computed by the operators' own kernels in the same groups, so results are to the bit those of the
// operators one by one.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/dispatch/known_results.h"
#include "backend/dispatch/queued_call.h"
#include "backend/runtime/device_queue.h"

namespace anymps::backend::dispatch {

// An operator that computes each element of its result from those at the same place, by arithmetic that does not
// depend on the place.
class ElementwiseOperator {
 public:
  // None where the operator is not known to be one.
  static std::optional<ElementwiseOperator> of(const c10::OperatorHandle& op);

  // The operator that writes to a tensor that it is given: the same, or that with `out`.
  const c10::OperatorHandle& writer() const { return writer_; }
  bool is_in_place() const { return is_in_place_; }

 private:
  ElementwiseOperator(c10::OperatorHandle writer, bool is_in_place) : writer_(writer), is_in_place_(is_in_place) {}

  c10::OperatorHandle writer_;
  bool is_in_place_;
};

// One call. All of its tensors are CPU tensors over the device's memory.
class ElementwiseStep {
 public:
  // Below this an operator is not worth it: its dispatch for each part costs more than the memory.
  static constexpr std::int64_t kLeastElements = 1 << 16;

  // `arguments` are those of a call to the operator, its aliases made by `call`. None where a tensor among them is not
  // as long as the result and laid out as it is, or one number.
  static std::unique_ptr<ElementwiseStep> of(const ElementwiseOperator& op, const torch::jit::Stack& arguments,
                                             QueuedCall& call);

  // On `rows` in the places of tensors().
  void run(c10::ArrayRef<at::Tensor> rows) const;

  // What goes element by element, the tensor that is written to first; and tensors of one number.
  c10::ArrayRef<at::Tensor> tensors() const { return tensors_; }
  c10::ArrayRef<at::Tensor> numbers() const { return numbers_; }
  const at::Tensor& written() const { return tensors_.front(); }
  bool result_is_new() const { return result_is_new_; }

 private:
  ElementwiseStep(const ElementwiseOperator& op, torch::jit::Stack arguments);
  bool add(std::size_t place);

  c10::OperatorHandle writer_;
  torch::jit::Stack arguments_;
  bool result_is_new_;
  c10::SmallVector<std::size_t, 4> places_;  // of tensors(), among the arguments
  c10::SmallVector<at::Tensor, 4> tensors_;
  c10::SmallVector<at::Tensor, 2> numbers_;
  HeldBlocks held_;
};

class ElementwiseChain final : public runtime::QueuedChain {
 public:
  // How many operators wait for one another: they would keep a device waiting that has nothing else to do.
  static constexpr std::size_t kMostSteps = 32;

  explicit ElementwiseChain(std::unique_ptr<ElementwiseStep> first) { steps_.push_back(std::move(first)); }

  // False where the step cannot run together with those that are there; it is left alone then.
  bool add(std::unique_ptr<ElementwiseStep>& step);
  std::size_t operators() const override { return steps_.size(); }
  void run() override;

 private:
  // Where a step's tensors are while a part of the chain runs: in their own memory, or in a buffer for the part.
  static constexpr int kOwnMemory = -1;
  struct Plan {
    std::vector<c10::SmallVector<int, 4>> buffers;  // by step and tensor
    int count = 0;
  };
  Plan plan() const;
  void run_range(const Plan& plan, std::int64_t begin, std::int64_t end) const;

  std::vector<std::unique_ptr<ElementwiseStep>> steps_;
};

// Queues the step behind those before it, together with them where it can be.
void queue_step(std::size_t bytes, std::unique_ptr<ElementwiseStep> step);

}  // namespace anymps::backend::dispatch
