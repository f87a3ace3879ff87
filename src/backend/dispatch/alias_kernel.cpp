#include "backend/dispatch/alias_kernel.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/dispatch/alias.h"
#include "backend/dispatch/call_key.h"
#include "backend/dispatch/elementwise_chain.h"
#include "backend/dispatch/queued_call.h"
#include "backend/dispatch/queued_function.h"
#include "backend/dispatch/queued_operators.h"
#include "backend/dispatch/refusal.h"
#include "backend/dispatch/refused_operators.h"
#include "backend/dispatch/widening.h"
#include "backend/observe/synchronize.h"
#include "backend/observe/waiting_operators.h"
#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/generator.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/waits.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::dispatch {
namespace {

// Arguments that may lie on the CPU beside the device's tensors, on a Mac too.
struct CpuArgument {
  std::string_view operator_name;  // with a star at the end: all that begin so
  std::string_view argument;       // "*" for all
};
constexpr CpuArgument kCpuArguments[] = {
    {"index", "indices"},
    {"_unsafe_index", "indices"},
    {"_index_put_impl_", "indices"},
    {"_foreach_*", "*"},
};

bool may_be_on_cpu(std::string_view operator_name, std::string_view argument) {
  return std::ranges::any_of(kCpuArguments, [&](const CpuArgument& row) {
    const bool prefix = row.operator_name.ends_with('*');
    const bool named = prefix ? operator_name.starts_with(row.operator_name.substr(0, row.operator_name.size() - 1))
                              : operator_name == row.operator_name;
    return named && (row.argument == "*" || row.argument == argument);
  });
}

}  // namespace

struct AliasKernel::Facts {
  explicit Facts(std::string_view name)
      : widening(name), waiting(name), queueing(queueing_of(name)), may_fail_late(dispatch::may_fail_late(name)) {}

  bool writes_arguments = false;
  std::vector<bool> is_generator;
  std::vector<bool> may_be_on_cpu;
  std::optional<std::size_t> dtype_argument;
  RefusalList refusals;
  Widening widening;
  observe::WaitingOperator waiting;
  Queueing queueing;
  bool may_fail_late = false;
  std::optional<ElementwiseOperator> elementwise;
};

AliasKernel::AliasKernel(AliasTarget target, DeviceCheck check) : target_(target), check_(check) {}

AliasKernel::~AliasKernel() { delete facts_.load(); }

const AliasKernel::Facts& AliasKernel::facts(const c10::OperatorHandle& op) {
  const Facts* known = facts_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  const c10::FunctionSchema& schema = op.schema();
  const std::string name = schema.name().substr(schema.name().find("::") + 2);
  auto fresh = std::make_unique<Facts>(name);
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    fresh->writes_arguments |= argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    fresh->is_generator.push_back(argument.name() == "generator");
    fresh->may_be_on_cpu.push_back(may_be_on_cpu(name, argument.name()));
    if (argument.name() == "dtype") fresh->dtype_argument = i;
  }
  fresh->refusals = RefusalList(schema);
  if (fresh->queueing != Queueing::kNever) fresh->elementwise = ElementwiseOperator::of(op);
  if (facts_.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  return *known;
}

namespace {

// PyTorch's own device checks, in its own words. `arguments` are those before aliasing.
void check_devices(DeviceCheck check, const std::vector<bool>& may_be_on_cpu, c10::ArrayRef<c10::IValue> arguments) {
  auto look = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.is_mps()) return;
    if (check == DeviceCheck::kIterator) {
      if (tensor.dim() != 0) refuse_other_device(tensor.device());
    } else {
      TORCH_CHECK(false, "Placeholder storage has not been allocated on MPS device!");
    }
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (may_be_on_cpu[i]) continue;
    if (arguments[i].isTensor()) {
      look(arguments[i].toTensor());
    } else if (arguments[i].isTensorList()) {
      for (const at::Tensor& tensor : arguments[i].toTensorVector()) look(tensor);
    }
  }
}

c10::IValue value_to_cpu(AliasCall& alias, const c10::IValue& value) {
  if (value.isTensor()) return alias.to_cpu(value.toTensor());
  if (value.isTensorList()) {
    const auto sources = value.toTensorList();
    c10::List<at::Tensor> list;
    list.reserve(sources.size());
    for (const at::Tensor& tensor : sources) list.push_back(alias.to_cpu(tensor));
    return list;
  }
  if (const auto tensors = runtime::optional_tensors(value)) {
    runtime::OptionalTensors list;
    for (const std::optional<at::Tensor> tensor : *tensors) {
      list.push_back(tensor ? std::optional<at::Tensor>(alias.to_cpu(*tensor)) : std::nullopt);
    }
    return list;
  }
  if (value.isDevice() && value.toDevice().is_mps()) return runtime::kCpuDevice;
  if (value.isGenerator()) return runtime::cpu_generator_for(value.toGenerator());
  return value;
}

c10::IValue kept_value(QueuedCall& queued, const c10::IValue& value) {
  if (value.isTensor()) return queued.alias(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& each : value.toTensorVector()) list.push_back(queued.alias(each));
    return list;
  }
  if (const auto tensors = runtime::optional_tensors(value)) {
    runtime::OptionalTensors list;
    for (const std::optional<at::Tensor> tensor : *tensors) list.push_back(kept(queued, tensor));
    return list;
  }
  if (value.isDevice() && value.toDevice().is_mps()) return runtime::kCpuDevice;
  return value;
}

void to_mps(AliasCall& alias, c10::IValue& value) {
  if (value.isTensor()) {
    value = alias.to_mps(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (at::Tensor tensor : value.toTensorVector()) list.push_back(alias.to_mps(std::move(tensor)));
    value = std::move(list);
  }
}

}  // namespace

void AliasKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const Facts& facts = this->facts(op);
  const c10::FunctionSchema& schema = op.schema();
  const std::size_t count = schema.arguments().size();
  const std::size_t begin = stack->size() - count;
  const bool learns = target_ == AliasTarget::kCpuKernel && facts.queueing != Queueing::kNever &&
                      runtime::DeviceQueue::takes_operators();
  CallKey key;
  const bool has_key = learns && key.read(schema, c10::ArrayRef<c10::IValue>(stack->data() + begin, count)) &&
                       (facts.queueing == Queueing::kAlways || key.all_floating());
  if (has_key) {
    if (const KnownCall* kind = known_results_.find(key.bytes())) {
      queue(*kind, op, facts, stack);
      return;
    }
  }
  // The sources stay alive here: their places on the stack go to the aliases.
  c10::SmallVector<c10::IValue, 8> sources;
  AliasCall alias;
  for (std::size_t i = 0; i < count; ++i) {
    c10::IValue& value = (*stack)[begin + i];
    if (value.isNone() && facts.is_generator[i]) value = runtime::default_mps_generator();
    c10::IValue mapped = value_to_cpu(alias, value);
    sources.push_back(std::move(value));
    value = std::move(mapped);
  }
  if (!facts.refusals.empty()) facts.refusals.check(sources, alias.has_cpu_argument());
  if (alias.has_cpu_argument() && check_ != DeviceCheck::kNone) check_devices(check_, facts.may_be_on_cpu, sources);
  if (const char* wait = facts.waiting.wait_of(sources)) {
    runtime::DeviceWork::given();  // it counts or compares first
    observe::synchronize(wait);
  }
  {
    runtime::RouteScope route;
    c10::impl::ExcludeDispatchKeyGuard no_cpu_autocast(c10::DispatchKey::AutocastCPU);
    compute(op, stack);
  }
  const bool changed_shapes = facts.writes_arguments && alias.finish();
  for (std::size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i) to_mps(alias, (*stack)[i]);
  if (has_key && !changed_shapes) {
    learn(key.bytes(), sources, c10::ArrayRef<c10::IValue>(*stack).slice(begin));
  }
}

// Of lists nothing is learned: what they hold may be anything.
void AliasKernel::learn(std::string_view key, c10::ArrayRef<c10::IValue> arguments,
                        c10::ArrayRef<c10::IValue> results) {
  auto tensors = [](c10::ArrayRef<c10::IValue> values) {
    c10::SmallVector<at::Tensor, 6> list;
    for (const c10::IValue& value : values) list.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
    return list;
  };
  const bool tensors_alone = std::ranges::all_of(results, [](const c10::IValue& value) { return value.isTensor(); });
  if (tensors_alone) known_results_.learn(key, tensors(arguments), tensors(results));
}

void AliasKernel::queue(const KnownCall& kind, const c10::OperatorHandle& op, const Facts& facts,
                        torch::jit::Stack* stack) {
  const std::size_t begin = stack->size() - op.schema().arguments().size();
  std::unique_ptr<QueuedCall> queued = QueuedCall::of_kind(kind);
  QueuedCall::Results made = std::move(queued->results());
  if (facts.may_fail_late) queued->keep_line();
  torch::jit::Stack cpu;
  for (std::size_t i = begin; i < stack->size(); ++i) cpu.push_back(kept_value(*queued, (*stack)[i]));
  std::unique_ptr<ElementwiseStep> step;
  // One that is watched runs by itself.
  if (facts.elementwise && !gpu::trace::Trace::detailed()) step = ElementwiseStep::of(*facts.elementwise, cpu, *queued);
  if (step) {
    queue_step(queued->bytes(), std::move(step));
  } else {
    QueuedCall::encode(std::move(queued), [this, op, cpu = std::move(cpu)]() mutable {
      compute(op, &cpu);
      QueuedCall::Results results;
      for (const c10::IValue& value : cpu) results.push_back(value.toTensor());
      cpu.clear();
      return results;
    });
  }
  c10::SmallVector<c10::IValue, 2> results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const int argument = kind.results[i].argument;
    results.push_back(argument >= 0 ? (*stack)[begin + static_cast<std::size_t>(argument)]
                                    : c10::IValue(std::move(made[i])));
  }
  stack->resize(begin);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

namespace {

// AT_DISPATCH's words. PyTorch refuses arguments by the same exception: the negation of bools, from 2.15 on.
bool is_missing_kernel(const c10::NotImplementedError& error) {
  return std::string_view(error.what_without_backtrace()).find("not implemented for") != std::string_view::npos;
}

}  // namespace

void AliasKernel::compute(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Facts& facts = this->facts(op);
  if (target_ == AliasTarget::kDispatcher) {
    op.callBoxed(stack);
    return;
  }
  const std::size_t begin = stack->size() - op.schema().arguments().size();
  std::uint64_t present = 0;
  auto note = [&](c10::ScalarType dtype) { present |= dtype_bit(dtype); };
  for (std::size_t i = begin; i < stack->size(); ++i) {
    const c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      if (value.toTensor().defined()) note(value.toTensor().scalar_type());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorList()) {
        if (tensor.defined()) note(tensor.scalar_type());
      }
    }
  }
  if (facts.dtype_argument) {
    const c10::IValue& value = (*stack)[begin + *facts.dtype_argument];
    if (value.isInt()) note(static_cast<c10::ScalarType>(value.toInt()));
  }
  const std::uint64_t narrow = present & facts.widening.candidates();
  if (narrow == 0) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    return;
  }
  if ((narrow & facts.widening.always()) != 0 || (widened_.load(std::memory_order_relaxed) & narrow) == narrow) {
    call_widened(op, facts.widening, stack);
    return;
  }
  std::vector<c10::IValue> arguments(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  } catch (const c10::NotImplementedError& error) {
    if (!is_missing_kernel(error)) throw;
    stack->resize(begin);
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    bool computed = true;
    try {
      call_widened(op, facts.widening, stack);
    } catch (const c10::NotImplementedError&) {
      computed = false;
    }
    // Nothing wider has a kernel either: the caller hears about the type that was asked for.
    if (!computed) throw;
    widened_.fetch_or(narrow, std::memory_order_relaxed);
  }
}

torch::CppFunction alias_function(AliasTarget target, DeviceCheck check) {
  return torch::CppFunction::makeFromBoxedKernel(
      c10::BoxedKernel::makeFromFunctor(std::make_unique<AliasKernel>(target, check)));
}

}  // namespace anymps::backend::dispatch
