// QueuedCall: an operator that goes into the device's queue. Its results are made when it is called; the CPU's kernel
// runs later, on CPU tensors over the same memory.
//
// Making those CPU tensors costs more than a small operator. So calls of one kind, whose keys are equal (call_key.h),
// use them again: SpareCalls keeps calls that have run, and the next one points their tensors at its own memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend/dispatch/result_kind.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"

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
  ~HeldBlocks() { let_go(); }
  void hold(void* block);
  void let_go();

 private:
  c10::SmallVector<void*, 6> blocks_;
};

struct KnownCall;

class QueuedCall {
 public:
  using Results = c10::SmallVector<at::Tensor, 3>;

  // One that nobody uses again.
  QueuedCall() = default;
  ~QueuedCall();
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;
  // A call of a kind, with its results; one that has run, where there is one.
  static std::unique_ptr<QueuedCall> of_kind(const KnownCall& kind);

  // The CPU tensor that stands for an argument when the call runs. Calls of one kind ask for the same ones in the same
  // order.
  at::Tensor alias(const at::Tensor& tensor);
  // The same without a hold on it, for a tensor of the device's: its place among the call's, which has it by then.
  std::size_t place_of(const at::Tensor& tensor);
  const at::Tensor& alias_at(std::size_t place) const { return tensors_[place].tensor; }

  // The results as the caller has them. Those that are arguments are undefined here.
  Results& results() { return results_; }

  // For a call that does not become a command of its own: the CPU's alias of a new result, what it holds, and how much.
  const at::Tensor& result_alias(std::size_t i) const { return alias_at(places_[i].tensor); }
  HeldBlocks take_held() { return std::move(held_); }
  std::size_t bytes() const { return bytes_; }

  // Errors that the device finds in it name the line that is calling it now.
  void keep_line();

  // Queues `compute`, which is called once and returns the CPU's results.
  template <typename Compute>
  static void encode(std::unique_ptr<QueuedCall> call, Compute compute) {
    const std::size_t bytes = call->bytes();
    call->asked_by_ = runtime::RouteScope::ask();
    runtime::DeviceQueue::encode(bytes, [call = std::move(call), compute = std::move(compute)]() mutable {
      {
        Compute own = std::move(compute);
        call->run([&own] { return own(); });
      }
      keep(std::move(call));
    });
  }

 private:
  // A result that the caller has, as the CPU sees it.
  struct Place {
    std::size_t index;   // among the results
    std::size_t tensor;  // among tensors_
  };
  struct Alias {
    c10::TensorImpl* source;  // of this call
    at::Tensor tensor;
    std::size_t storage;  // among storages_
  };
  struct StorageAlias {
    c10::StorageImpl* source;
    c10::Storage storage;
  };

  void make_results(const ResultKinds& kinds);
  // What alias() returned before goes to the next call.
  void rewind();
  std::size_t storage_alias(c10::StorageImpl& source);

  // What `compute` throws is an error of the device; new results are zero then.
  void run(c10::function_ref<Results()> compute);
  void move_into_place(const Results& results) const;
  static void keep(std::unique_ptr<QueuedCall> call);
  bool is_nobody_elses() const;

  friend class SpareCalls;

  const KnownCall* kind_ = nullptr;  // null: nobody uses it again
  QueuedCall* next_ = nullptr;       // among the spare ones
  Results results_;
  c10::SmallVector<Place, 2> places_;
  HeldBlocks held_;
  std::string line_;  // empty: nobody knows
  runtime::AskedBy asked_by_;
  // The first so many are this call's; those behind them are of a call that ran.
  std::size_t tensors_in_use_ = 0;
  std::size_t storages_in_use_ = 0;
  c10::SmallVector<Alias, 4> tensors_;
  c10::SmallVector<StorageAlias, 4> storages_;
  std::size_t bytes_ = 0;
};

// Calls of one kind that have run.
class SpareCalls {
 public:
  SpareCalls() = default;
  ~SpareCalls();
  SpareCalls(const SpareCalls&) = delete;
  SpareCalls& operator=(const SpareCalls&) = delete;

  // One of them, or a new one, which nobody uses again where there are many.
  std::unique_ptr<QueuedCall> take(const KnownCall& kind);
  void put(std::unique_ptr<QueuedCall> call) noexcept;

 private:
  // As many as a program is usually ahead of the device with one operator.
  static constexpr std::size_t kMost = 64;
  // Of all kinds: a program whose shapes hardly ever come again would fill the memory with them.
  static constexpr std::size_t kMostOfAll = 16384;

  friend class QueuedCall;
  static std::atomic<std::size_t> of_all_;

  std::mutex mutex_;
  std::size_t made_ = 0;
  QueuedCall* ready_ = nullptr;
  // Calls that came back since none was ready: the device's thread never waits for one that takes some.
  alignas(64) std::atomic<QueuedCall*> returned_{nullptr};
};

// A kind of call.
struct KnownCall {
  explicit KnownCall(ResultKinds kinds) : results(std::move(kinds)) {}

  const ResultKinds results;
  mutable SpareCalls spares;
};

}  // namespace anymps::backend::dispatch
