// Operators that are functions of CPU tensors: run at once, or queued where calls of their kind are known.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/dispatch/call_key.h"
#include "backend/dispatch/cpu_call.h"
#include "backend/dispatch/known_results.h"
#include "backend/dispatch/queued_call.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"

namespace anymps::backend::dispatch {

// An argument as a queued call keeps it: a tensor as its alias, what a reference names as a copy.
class KeptTensor {
 public:
  KeptTensor(QueuedCall& call, const at::Tensor& tensor) {
    if (tensor.defined() && tensor.is_mps()) {
      call_ = &call;
      place_ = call.place_of(tensor);
    } else {
      own_ = call.alias(tensor);
    }
  }
  operator const at::Tensor&() const {  // NOLINT(google-explicit-constructor): it stands for one
    return call_ != nullptr ? call_->alias_at(place_) : own_;
  }

 private:
  // Which outlives the arguments; a hold on its tensors would cost more than all the rest.
  const QueuedCall* call_ = nullptr;
  std::size_t place_ = 0;
  at::Tensor own_;
};
inline KeptTensor kept(QueuedCall& call, const at::Tensor& tensor) { return {call, tensor}; }
inline std::optional<at::Tensor> kept(QueuedCall& call, const std::optional<at::Tensor>& tensor) {
  return tensor && tensor->defined() ? std::optional(call.alias(*tensor)) : std::nullopt;
}
template <typename T>
std::vector<T> kept(QueuedCall&, c10::ArrayRef<T> values) {
  return values.vec();
}
template <typename T>
struct KeptOptionalValues {
  std::optional<std::vector<T>> values;
  operator c10::OptionalArrayRef<T>() const {  // NOLINT(google-explicit-constructor): it stands for one
    return values ? c10::OptionalArrayRef<T>(*values) : std::nullopt;
  }
};
template <typename T>
KeptOptionalValues<T> kept(QueuedCall&, const c10::OptionalArrayRef<T>& values) {
  return {values ? std::optional(values->vec()) : std::nullopt};
}
template <typename T>
T kept(QueuedCall&, const T& value) {
  return value;
}

inline QueuedCall::Results as_list(at::Tensor result) { return {std::move(result)}; }
template <typename... Tensors>
QueuedCall::Results as_list(std::tuple<Tensors...> results) {
  return std::apply([](auto&... each) { return QueuedCall::Results{std::move(each)...}; }, results);
}

template <typename Result>
Result from_list(QueuedCall::Results& list) {
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    return std::move(list[0]);
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Result{std::move(list[I])...};
    }(std::make_index_sequence<std::tuple_size_v<Result>>());
  }
}

// `run()` where the call has to run now; else `compute` is queued on the CPU aliases of the arguments. For functions
// that write to none of their arguments and return new tensors, as an at::Tensor or a tuple of them.
template <typename Result, typename Run, typename Compute, typename... Arguments>
Result run_or_queue(KnownResults& known, const Run& run, const Compute& compute, const Arguments&... arguments) {
  if (!runtime::DeviceQueue::takes_operators()) return run();
  CallKey key;
  if (!key.read(arguments...)) return run();
  if (const KnownCall* kind = known.find(key.bytes())) {
    std::unique_ptr<QueuedCall> call = QueuedCall::of_kind(*kind);
    Result result = from_list<Result>(call->results());
    // In braces, so that they are kept in the order in which they are given.
    std::tuple<decltype(kept(*call, arguments))...> own{kept(*call, arguments)...};
    QueuedCall::encode(std::move(call), [compute, own = std::move(own)] { return as_list(std::apply(compute, own)); });
    return result;
  }
  Result result = run();
  known.learn(key.bytes(), {}, as_list(result));
  return result;
}

// `work`, which returns nothing, as a command on the CPU tensors that stand for `tensors`.
template <typename Work, typename... Tensors>
void queue_in_turn(std::unique_ptr<QueuedCall> call, const Work& work, const Tensors&... tensors) {
  std::tuple<decltype(kept(*call, tensors))...> own{kept(*call, tensors)...};
  QueuedCall::encode(std::move(call), [work, own = std::move(own)] {
    std::apply(work, own);
    return QueuedCall::Results();
  });
}

// `work` on the memory of the device's tensors: now, or as a command. It is called with them, or with CPU tensors in
// their places, and returns nothing. An error that it reports names the line of this call if `keeps_line`, which costs
// a microsecond.
template <bool keeps_line = false, typename Work, typename... Tensors>
void in_turn(const Work& work, const Tensors&... tensors) {
  if (!runtime::DeviceQueue::takes_operators()) {
    (runtime::wait_for_commands(*tensors.storage().unsafeGetStorageImpl()), ...);
    return work(tensors...);
  }
  auto call = std::make_unique<QueuedCall>();
  if constexpr (keeps_line) call->keep_line();
  queue_in_turn(std::move(call), work, tensors...);
}

// `compute` on CPU tensors, its results back on the device. `known` is the operator's own.
template <typename Compute, typename... Arguments>
auto on_cpu_tensors(KnownResults& known, const Compute& compute, const Arguments&... arguments) {
  using Result = std::invoke_result_t<Compute, const Arguments&...>;
  const auto run = [&] {
    CpuCall cpu;
    const auto to_cpu = [&cpu](const auto& argument) -> decltype(auto) {
      if constexpr (requires { cpu(argument); }) {
        return cpu(argument);
      } else {
        return argument;
      }
    };
    Result result = compute(to_cpu(arguments)...);
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return cpu.back(std::move(result));
    } else {
      return std::apply([&](auto&... each) { return Result{cpu.back(std::move(each))...}; }, result);
    }
  };
  return run_or_queue<Result>(known, run, compute, arguments...);
}

}  // namespace anymps::backend::dispatch
