// QueuedCall: an operator that goes into the device's queue. Its results are made when it is called; the CPU's kernel
// runs later, on CPU tensors over the same memory.
//
// It is made on the caller's stack, given the arguments, and encoded once.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <string>
#include <utility>

#include "backend/dispatch/known_results.h"
#include "backend/runtime/device_queue.h"

namespace anymps::backend::dispatch {

// The blocks that a call uses, held until it has run.
class HeldBlocks {
 public:
  HeldBlocks() = default;
  HeldBlocks(HeldBlocks&& other) noexcept : blocks_(std::move(other.blocks_)) { other.blocks_.clear(); }
  HeldBlocks& operator=(HeldBlocks&& other) noexcept {
    blocks_.swap(other.blocks_);
    return *this;
  }
  ~HeldBlocks();
  void hold(void* block);

 private:
  c10::SmallVector<void*, 6> blocks_;
};

class QueuedCall {
 public:
  using Results = c10::SmallVector<at::Tensor, 3>;

  explicit QueuedCall(const ResultKinds& kinds);

  // The CPU tensor that stands for an argument when the call runs.
  at::Tensor alias(const at::Tensor& tensor);

  // The results as the caller has them. Those that are arguments are undefined here.
  Results& results() { return results_; }

  // For a call that does not become a command of its own: the CPU's alias of a new result, what it holds, and how much.
  const at::Tensor& result_alias(std::size_t place) const { return frame_.places[place].alias; }
  HeldBlocks take_held() { return std::move(frame_.held); }
  std::size_t bytes() const { return bytes_; }

  // Errors that the device finds in it name the line that is calling it now.
  void keep_line();

  // Queues `compute`, which is called once and returns the CPU's results.
  template <typename Compute>
  void encode(Compute compute) {
    runtime::DeviceQueue::encode(bytes_, [frame = std::move(frame_), compute = std::move(compute)]() mutable {
      frame.run([&compute] { return compute(); });
    });
  }

 private:
  // A result that the caller has, as the CPU sees it.
  struct Place {
    std::size_t index;  // among the results
    at::Tensor alias;
  };

  // What goes with the command.
  struct Frame {
    c10::SmallVector<Place, 2> places;
    HeldBlocks held;
    std::string line;  // empty: nobody knows

    // What `compute` throws is an error of the device; new results are zero then.
    void run(c10::function_ref<Results()> compute);
    void move_into_place(const Results& results) const;
  };

  c10::Storage storage_alias(c10::StorageImpl& source);

  Results results_;
  Frame frame_;
  c10::SmallVector<std::pair<c10::TensorImpl*, at::Tensor>, 4> tensors_;
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 4> storages_;
  std::size_t bytes_ = 0;
};

}  // namespace anymps::backend::dispatch
