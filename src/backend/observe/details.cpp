#include "backend/observe/details.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/observe/check.h"
#include "backend/observe/profile_log.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/waits.h"
#include "gpu/support/probes.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::observe {
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
thread_local CallsOfThread calls_of_thread;

std::atomic<bool> calls_wanted{false};
// Of PyTorch's that run now.
std::atomic<unsigned> profilers{0};

// A check and a log want the device's time alone.
bool everything_wanted() noexcept {
  return calls_wanted.load(std::memory_order_relaxed) || profilers.load(std::memory_order_relaxed) != 0;
}

std::uint32_t id_of(gpu::trace::Trace& trace, Call& call) noexcept {
  if (call.id == 0) call.id = trace.intern(call.name);
  return call.id;
}

// What the CPU calls to do the device's work are no calls of the user's.
std::unique_ptr<at::ObserverContext> enter_call(const at::RecordFunction& function) {
  if (runtime::RouteScope::active()) return nullptr;
  const bool wanted = calls_wanted.load(std::memory_order_relaxed);
  calls_of_thread.calls.push_back({function.name(), wanted ? gpu::trace::Trace::now_ns() : 0});
  return nullptr;
}

void leave_call(const at::RecordFunction&, at::ObserverContext*) {
  if (runtime::RouteScope::active()) return;
  std::vector<Call>& calls = calls_of_thread.calls;
  if (calls.empty()) return;
  Call call = calls.back();
  calls.pop_back();
  gpu::trace::Trace* trace = call.began_ns != 0 ? gpu::trace::Trace::current() : nullptr;
  if (trace == nullptr) return;
  trace->record_span(gpu::trace::TraceKind::kCall, id_of(*trace, call), call.began_ns, calls.size());
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

thread_local bool hidden = false;  // from profilers, since the outermost scope began

// Profilers must not see the CPU's operators that do the device's work. Telling PyTorch so twice an operator costs more
// than all else here, so it is done for them alone: our own callbacks look at RouteScope.
std::uint64_t begin_span() noexcept {
  hidden = profilers.load(std::memory_order_relaxed) != 0 && at::isRecordFunctionEnabled();
  if (hidden) at::enableRecordFunction(false);
  return gpu::trace::Trace::now_ns();
}

runtime::AskedBy who_calls() noexcept {
  const CallsOfThread& thread = calls_of_thread;
  return {.name = thread.calls.empty() ? "an operator" : thread.calls.back().name, .correlation = who_asked(thread)};
}

void end_span(std::uint64_t began, const runtime::AskedBy& by) noexcept {
  if (checking()) runtime::DeviceWork::took(gpu::trace::Trace::now_ns() - began);
  if (profile_logging()) profile_operation(gpu::trace::Trace::now_ns() - began);
  gpu::trace::Trace* trace = everything_wanted() ? gpu::trace::Trace::current() : nullptr;
  if (trace != nullptr) {
    CallsOfThread& thread = calls_of_thread;
    const runtime::AskedBy whose = by.name != nullptr ? by : who_calls();
    const bool is_called_now = by.name == nullptr && !thread.calls.empty();
    const std::uint32_t name = is_called_now ? id_of(*trace, thread.calls.back()) : trace->intern(whose.name);
    ANYMPS_PROBE(operator_ran, whose.name, began, 0);
    trace->record_span(gpu::trace::TraceKind::kOperator, name, began, 0, whose.correlation);
  }
  if (std::exchange(hidden, false)) at::enableRecordFunction(true);
}

}  // namespace

void observe_routes() {
  runtime::RouteScope::set_observer({.begin = &begin_span, .end = &end_span, .ask = &who_calls});
}

bool begin_details(Watched watched) {
  if (watched == Watched::kAtItsCall) {
    runtime::DeviceQueue::take_no_operators();
  } else {
    runtime::DeviceQueue::drain();  // what was queued before is not watched
  }
  profilers.fetch_add(1, std::memory_order_relaxed);
  watch().begin();
  return gpu::trace::Trace::begin_details();
}

void end_details(Watched watched) {
  if (watched == Watched::kAtItsCall) runtime::DeviceQueue::take_operators();
  gpu::trace::Trace::end_details();
  watch().end();
  profilers.fetch_sub(1, std::memory_order_relaxed);
}

void trace_calls() {
  if (calls_wanted.exchange(true)) return;
  watch().begin();
  gpu::trace::Trace::begin_details();
}

void push_correlation(std::uint64_t id) { calls_of_thread.correlations.push_back(id); }
void pop_correlation() {
  if (!calls_of_thread.correlations.empty()) calls_of_thread.correlations.pop_back();
}

void name_call(const char* name) noexcept {
  if (!calls_of_thread.calls.empty() && !runtime::RouteScope::active()) calls_of_thread.calls.back().name = name;
}

void note_shader(const std::string& name, std::uint64_t threads, std::uint64_t began_ns) noexcept {
  gpu::trace::Trace* trace = gpu::trace::Trace::current();
  if (trace == nullptr) return;
  ANYMPS_PROBE(shader_ran, name.c_str(), began_ns, threads);
  trace->record_span(gpu::trace::TraceKind::kShader, trace->intern(name), began_ns, threads,
                     who_asked(calls_of_thread));
}

}  // namespace anymps::backend::observe
