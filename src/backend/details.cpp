#include "backend/details.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/memory.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

struct Call {
  const char* name;
  std::uint64_t began_ns;
};

// What this thread is in, outermost first. A name is interned when there is something to record.
thread_local std::vector<Call> calls;
thread_local std::vector<std::uint64_t> correlations;

std::atomic<bool> calls_wanted{false};

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  const bool wanted = calls_wanted.load(std::memory_order_relaxed);
  calls.push_back({function.name(), wanted ? gpu::Trace::now_ns() : 0});
  return nullptr;
}

void leave(const at::RecordFunction&, at::ObserverContext*) {
  if (calls.empty()) return;
  const Call call = calls.back();
  calls.pop_back();
  gpu::Trace* trace = call.began_ns != 0 ? gpu::Trace::current() : nullptr;
  if (trace == nullptr) return;
  trace->record(gpu::TraceKind::kCall, trace->intern(call.name), 0, calls.size(), gpu::Trace::now_ns() - call.began_ns);
}

// Something has run on the device, for whoever asked last.
void note(gpu::TraceKind kind, std::string_view name, std::uint64_t a, std::uint64_t length_ns) noexcept {
  gpu::Trace* trace = gpu::Trace::current();
  if (trace == nullptr) return;
  trace->record(kind, trace->intern(name), 0, a, length_ns, correlations.empty() ? 0 : correlations.back());
}

// PyTorch calls back for every operator while somebody watches.
class Watch {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (wanted_++ != 0) return;
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&enter, &leave).scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
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
  watch().begin();
  return gpu::Trace::begin_details();
}

void end_details() {
  gpu::Trace::end_details();
  watch().end();
}

void trace_calls() {
  if (!calls_wanted.exchange(true)) begin_details();
}

void push_correlation(std::uint64_t id) { correlations.push_back(id); }
void pop_correlation() {
  if (!correlations.empty()) correlations.pop_back();
}

// The operators of the CPU that do the device's work are no operators of the user's.
void RouteScope::begin_span() noexcept {
  watched_ = at::isRecordFunctionEnabled();
  at::enableRecordFunction(false);
  began_ns_ = gpu::Trace::now_ns();
}

void RouteScope::end_span() noexcept {
  const std::uint64_t length = gpu::Trace::now_ns() - began_ns_;
  began_ns_ = 0;
  at::enableRecordFunction(watched_);
  note(gpu::TraceKind::kOperator, calls.empty() ? "an operator" : calls.back().name, 0, length);
}

void note_shader(std::string_view name, std::uint64_t threads, std::uint64_t began_ns) noexcept {
  note(gpu::TraceKind::kShader, name, threads, gpu::Trace::now_ns() - began_ns);
}

}  // namespace anymps::backend
