// The operators that training loops live on, without boxing: the same aliasing as AliasKernel, compiled per signature.
// Only operators that need nothing but their arguments; a type that the CPU's kernel lacks goes to the boxed kernel.
#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <torch/library.h>

#include <memory>
#include <type_traits>

#include "backend/dispatch/alias_kernel.h"
#include "backend/dispatch/cpu_call.h"
#include "backend/dispatch/elementwise_chain.h"
#include "backend/dispatch/queued_function.h"
#include "backend/dispatch/refusal.h"
#include "backend/dispatch/registration.h"
#include "backend/runtime/device_queue.h"

namespace anymps::backend::dispatch {
namespace {

at::Tensor hot_to_cpu(AliasCall& alias, const at::Tensor& tensor) { return alias.to_cpu(tensor); }
template <typename T>
const T& hot_to_cpu(AliasCall&, const T& other) {
  return other;
}

void check_hot_devices(const AliasCall& alias) {
  if (alias.bystander().defined()) refuse_other_device(alias.bystander().device());
}

template <typename Op, typename Signature>
struct Hot;

template <typename Op, typename Result, typename... Arguments>
struct Hot<Op, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    // Of those that write to an argument none but the boxed kernel is queued, nor of those that run together.
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      if (runtime::DeviceQueue::takes_operators() && is_long(std::get<0>(std::tie(arguments...)))) {
        return call_boxed(arguments...);
      }
      static auto& known = KnownResults::kept_for_good();
      return or_boxed(
          [&] {
            return run_or_queue<Result>(
                known, [&] { return call_unboxed(arguments...); }, redispatch_on_cpu, arguments...);
          },
          arguments...);
    } else {
      if (runtime::DeviceQueue::takes_operators()) return call_boxed(arguments...);
      return or_boxed([&]() -> Result { return call_unboxed(arguments...); }, arguments...);
    }
  }

 private:
  static Result redispatch_on_cpu(Arguments... arguments) {
    return Op::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), arguments...);
  }

  static bool is_long(const at::Tensor& tensor) { return tensor.numel() >= ElementwiseStep::kLeastElements; }

  template <typename Call>
  static Result or_boxed(const Call& call, Arguments... arguments) {
    try {
      return call();
    } catch (const c10::NotImplementedError&) {
      // Such as complex halves: the boxed kernel widens.
      return call_boxed(arguments...);
    }
  }

  static Result call_unboxed(Arguments... arguments) {
    AliasCall alias;
    std::tuple cpu(hot_to_cpu(alias, arguments)...);
    check_hot_devices(alias);
    runtime::RouteScope route;
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);
    auto redispatch = [&](auto&... each) -> decltype(auto) { return Op::redispatch(kCpu, each...); };
    if constexpr (std::is_same_v<Result, at::Tensor&>) {
      std::apply(redispatch, cpu);
      alias.finish();
      // In-place operators return their first argument.
      return std::get<0>(std::tuple<Arguments...>(arguments...));
    } else {
      return alias.to_mps(std::apply(redispatch, cpu));
    }
  }

  static Result call_boxed(Arguments... arguments) {
    static const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
    // Commands that are left when the program ends run while static objects are being torn down.
    static const auto& kernel = *new c10::BoxedKernel(c10::BoxedKernel::makeFromFunctor(
        std::make_unique<AliasKernel>(AliasTarget::kCpuKernel, DeviceCheck::kIterator)));
    return c10::impl::BoxedKernelWrapper<Result(Arguments...)>::call(
        kernel, op, c10::DispatchKeySet(c10::DispatchKey::MPS), arguments...);
  }
};

template <typename Op>
void hot(torch::Library& m, const char* name) {
  m.impl(name, TORCH_FN((Hot<Op, typename Op::schema>::call)));
}

}  // namespace

void register_hot(torch::Library& m) {
  namespace ops = at::_ops;
  hot<ops::add_Tensor>(m, "add.Tensor");
  hot<ops::sub_Tensor>(m, "sub.Tensor");
  hot<ops::mul_Tensor>(m, "mul.Tensor");
  hot<ops::div_Tensor>(m, "div.Tensor");
  hot<ops::add__Tensor>(m, "add_.Tensor");
  hot<ops::sub__Tensor>(m, "sub_.Tensor");
  hot<ops::mul__Tensor>(m, "mul_.Tensor");
  hot<ops::div__Tensor>(m, "div_.Tensor");
  hot<ops::neg>(m, "neg");
  hot<ops::exp>(m, "exp");
  hot<ops::sqrt>(m, "sqrt");
  hot<ops::rsqrt>(m, "rsqrt");
  hot<ops::tanh>(m, "tanh");
  hot<ops::sigmoid>(m, "sigmoid");
  hot<ops::eq_Scalar>(m, "eq.Scalar");
  hot<ops::eq_Tensor>(m, "eq.Tensor");
  hot<ops::gt_Scalar>(m, "gt.Scalar");
  hot<ops::lt_Scalar>(m, "lt.Scalar");
  hot<ops::fill__Scalar>(m, "fill_.Scalar");
  hot<ops::zero_>(m, "zero_");
  hot<ops::sum_dim_IntList>(m, "sum.dim_IntList");
}

}  // namespace anymps::backend::dispatch
