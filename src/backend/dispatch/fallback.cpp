// Operators that PyTorch's MPS backend lacks: its own refusal, or its own warning and the CPU.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/env.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/dispatch/alias_kernel.h"
#include "backend/dispatch/other_release.h"
#include "backend/dispatch/registration.h"
#include "backend/observe/check.h"
#include "backend/observe/profile_log.h"
#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/call_site.h"
#include "backend/runtime/mps_log.h"
#include "backend/runtime/waits.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::dispatch {
namespace {

constexpr const char* kTracker =
    "please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, "
    "that resulted in missing op";

constexpr const char* kRefused = "refused-operator";

// c10d operators need an implementation of the device's own; they never go to the CPU.
void refuse_distributed(const c10::OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.operator_name().getNamespace().value_or("") != "c10d", "The distributed operator '",
                              op.schema().operator_name(),
                              "' is not currently implemented for the MPS device. If you want this op to be considered "
                              "for addition ",
                              kTracker, " as well as commit hash ", quoted_commit(),
                              ". Please note, that distributed operators can not fall back to CPU");
}

void raise_refusal(const c10::OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "The operator '", op.schema().operator_name(),
      "' is not currently implemented for the MPS device. If you want this op to be considered for addition ", kTracker,
      " as well as commit hash ", quoted_commit(),
      ". As a temporary fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a "
      "fallback for this op. WARNING: this will be slower than running natively on MPS.");
}

void refuse_operator(const c10::OperatorHandle& op, torch::jit::Stack*) {
  refuse_distributed(op);
  if (!observe::is_expected("NotImplementedError")) observe::note_finding(kRefused, op.schema().name());
  raise_refusal(op);
}

std::uint64_t bytes_of(c10::ArrayRef<c10::IValue> values) {
  std::uint64_t bytes = 0;
  runtime::for_each_tensor(values, [&](const at::Tensor& tensor) { bytes += tensor.defined() ? tensor.nbytes() : 0; });
  return bytes;
}

void warn_of_fallback(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  TORCH_WARN_ONCE("The operator '", op.schema().operator_name(),
                  "' is not currently supported on the MPS backend and will fall back to run on the CPU. This may have "
                  "performance implications.");
  if (auto* trace = gpu::trace::Trace::current(); trace != nullptr && !observe::is_allowed("fallback-operator")) {
    trace->record(gpu::trace::TraceKind::kFallback, trace->intern(op.schema().name()),
                  trace->intern(runtime::call_site()), 0, bytes_of(arguments));
  }
}

// Through an alias kernel. One kernel object serves all operators here, so it must not cache what it learns about one
// of them: a fresh one is made per call, which a warned-about slow path can afford.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  AliasKernel(AliasTarget::kCpuKernel, DeviceCheck::kNone)(op, c10::DispatchKeySet(c10::DispatchKey::MPS), stack);
}

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  refuse_distributed(op);
  const auto last = [stack](std::size_t count) { return torch::jit::last(*stack, count); };
  warn_of_fallback(op, last(op.schema().arguments().size()));
  const bool logged = runtime::logs(runtime::LogLevel::kFallbacks);
  const bool told = logged || observe::profile_logging();
  const std::vector<c10::IValue> arguments =
      told ? last(op.schema().arguments().size()).vec() : std::vector<c10::IValue>();
  const std::uint64_t began = gpu::trace::Trace::now_ns();
  run_on_cpu(op, stack);
  if (told) observe::profile_fallback(op.schema().name(), arguments, gpu::trace::Trace::now_ns() - began);
  if (logged) runtime::log_fallback(op.schema().name(), arguments, last(op.schema().returns().size()).vec());
}

// The one of PyTorch's permanent fallbacks that has a gradient: autograd follows it to the CPU and back.
std::tuple<at::Tensor, at::Tensor, at::Tensor> svd(const at::Tensor& matrix, bool full,
                                                   std::optional<std::string_view> driver) {
  static const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::linalg_svd", "");
  warn_of_fallback(op, {c10::IValue(matrix)});
  // The wait is told of with the fallback.
  runtime::begin_one_wait(nullptr);
  const auto end = c10::make_scope_exit(&runtime::end_one_wait);
  const std::uint64_t began = gpu::trace::Trace::now_ns();
  auto [u, s, v] = at::linalg_svd(matrix.to(at::kCPU), full, driver);
  if (observe::profile_logging())
    observe::profile_fallback(op.schema().name(), {c10::IValue(matrix)}, gpu::trace::Trace::now_ns() - began);
  if (runtime::logs(runtime::LogLevel::kFallbacks)) runtime::log_fallback(op.schema().name(), {matrix}, {u, s, v});
  return {u.to(matrix.device()), s.to(matrix.device()), v.to(matrix.device())};
}

bool fallback_enabled() {
  const auto value = c10::utils::get_env("PYTORCH_ENABLE_MPS_FALLBACK");
  return value.has_value() && *value != "0";
}

// A Mac would refuse; the check goes on, but where the program is ready for the refusal.
void refuse_and_go_on(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  refuse_distributed(op);
  if (observe::is_expected("NotImplementedError")) return raise_refusal(op);
  observe::note_finding(kRefused, op.schema().name());
  run_on_cpu(op, stack);
}

torch::CppFunction for_missing() {
  if (fallback_enabled()) return torch::CppFunction::makeFromBoxedFunction<&fall_back>();
  return observe::check_mode() == observe::CheckMode::kGoOn
             ? torch::CppFunction::makeFromBoxedFunction<&refuse_and_go_on>()
             : torch::CppFunction::makeFromBoxedFunction<&refuse_operator>();
}

}  // namespace

void register_fallback(torch::Library& m) { m.fallback(for_missing()); }

void register_missing(torch::Library& m, const char* name) { m.impl(name, for_missing()); }

void register_permanent_fallback(torch::Library& m, const char* name) {
  m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

// PyTorch itself sends these to the CPU, whatever the environment says.
void register_permanent_fallbacks(torch::Library& m) {
  for (const char* name : {"embedding_renorm_", "linalg_svd.U"}) {
    if (route_in_force(name) == gpu::history::OperatorRoute::kFallback) register_permanent_fallback(m, name);
  }
}

void register_svd(torch::Library& m) {
  if (route_in_force("linalg_svd") == gpu::history::OperatorRoute::kFallback) m.impl("linalg_svd", svd);
}

}  // namespace anymps::backend::dispatch
