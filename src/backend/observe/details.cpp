#include "backend/details.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/check.h"
#include "backend/memory.h"
#include "backend/profile_log.h"
#include "backend/waits.h"
#include "gpu/probes.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

struct Call {
  const char* name;
  std::uint64_t began_ns;
  std::uint32_t id = 0;  // once there was something to record
};

struct CallsOfThread {
  std::vector<Call> calls;  // that it is in, outermost first
  std::vector<std::uint64_t> correlations;
};
thread_local CallsOfThread calls_here;

std::atomic<bool> calls_wanted{false};
// Of PyTorch's that run now.
std::atomic<unsigned> profilers{0};

// A check and a log want the device's time alone.
bool everything_wanted() noexcept {
  return calls_wanted.load(std::memory_order_relaxed) || profilers.load(std::memory_order_relaxed) != 0;
}

std::uint32_t id_of(gpu::Trace& trace, Call& call) noexcept {
  if (call.id == 0) call.id = trace.intern(call.name);
  return call.id;
}

// What the CPU calls to do the device's work are no calls of the user's.
std::unique_ptr<at::ObserverContext> enter_call(const at::RecordFunction& function) {
  if (RouteScope::active()) return nullptr;
  const bool wanted = calls_wanted.load(std::memory_order_relaxed);
  calls_here.calls.push_back({function.name(), wanted ? gpu::Trace::now_ns() : 0});
  return nullptr;
}

void leave_call(const at::RecordFunction&, at::ObserverContext*) {
  if (RouteScope::active()) return;
  std::vector<Call>& calls = calls_here.calls;
  if (calls.empty()) return;
  Call call = calls.back();
  calls.pop_back();
  gpu::Trace* trace = call.began_ns != 0 ? gpu::Trace::current() : nullptr;
  if (trace == nullptr) return;
  trace->record_span(gpu::TraceKind::kCall, id_of(*trace, call), call.began_ns, calls.size());
}

std::uint64_t who_asked(const CallsOfThread& thread) noexcept {
  return thread.correlations.empty() ? 0 : thread.correlations.back();
}

// PyTorch calls back for every operator while somebody watches.
class Watch {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (wanted_++ != 0) return;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&enter_call, &leave_call)
                                        .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--wanted_ == 0) at::removeCallback(handle_);
  }

 private:
  std::mutex mutex_;
  unsigned wanted_ = 0;
  at::CallbackHandle handle_ = 0;
};

Watch& watch() {
  static auto* const only = new Watch;
  return *only;
}

}  // namespace

bool begin_details() {
  profilers.fetch_add(1, std::memory_order_relaxed);
  watch().begin();
  return gpu::Trace::begin_details();
}

void end_details() {
  gpu::Trace::end_details();
  watch().end();
  profilers.fetch_sub(1, std::memory_order_relaxed);
}

void trace_calls() {
  if (calls_wanted.exchange(true)) return;
  watch().begin();
  gpu::Trace::begin_details();
}

void push_correlation(std::uint64_t id) { calls_here.correlations.push_back(id); }
void pop_correlation() {
  if (!calls_here.correlations.empty()) calls_here.correlations.pop_back();
}

void name_call(const char* name) noexcept {
  if (!calls_here.calls.empty() && !RouteScope::active()) calls_here.calls.back().name = name;
}

// Profilers must not see the CPU's operators that do the device's work. Telling PyTorch so twice an operator costs more
// than all else here, so it is done for them alone: our own callbacks look at RouteScope.
void RouteScope::begin_span() noexcept {
  hidden_ = profilers.load(std::memory_order_relaxed) != 0 && at::isRecordFunctionEnabled();
  if (hidden_) at::enableRecordFunction(false);
  began_ns_ = gpu::Trace::now_ns();
}

void RouteScope::end_span() noexcept {
  const std::uint64_t began = std::exchange(began_ns_, 0);
  if (checking()) DeviceWork::took(gpu::Trace::now_ns() - began);
  if (profile_logging()) profile_operation(gpu::Trace::now_ns() - began);
  gpu::Trace* trace = everything_wanted() ? gpu::Trace::current() : nullptr;
  if (trace != nullptr) {
    CallsOfThread& thread = calls_here;
    const std::uint32_t name = thread.calls.empty() ? trace->intern("an operator") : id_of(*trace, thread.calls.back());
    ANYMPS_PROBE(operator_ran, thread.calls.empty() ? "an operator" : thread.calls.back().name, began, 0);
    trace->record_span(gpu::TraceKind::kOperator, name, began, 0, who_asked(thread));
  }
  if (std::exchange(hidden_, false)) at::enableRecordFunction(true);
}

void note_shader(const std::string& name, std::uint64_t threads, std::uint64_t began_ns) noexcept {
  gpu::Trace* trace = gpu::Trace::current();
  if (trace == nullptr) return;
  ANYMPS_PROBE(shader_ran, name.c_str(), began_ns, threads);
  trace->record_span(gpu::TraceKind::kShader, trace->intern(name), began_ns, threads, who_asked(calls_here));
}

}  // namespace anymps::backend
