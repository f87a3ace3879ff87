#include "backend/details.h"

#include <ATen/record_function.h>

#include <memory>
#include <mutex>
#include <vector>

#include "backend/memory.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

// The operators that this thread is in, outermost first. Interned when one of them runs something.
thread_local std::vector<const char*> operators;
thread_local std::vector<std::uint64_t> correlations;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  operators.push_back(function.name());
  return nullptr;
}

void leave(const at::RecordFunction&, at::ObserverContext*) {
  if (!operators.empty()) operators.pop_back();
}

// PyTorch calls back for every operator while somebody watches.
class Watch {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (wanted_++ != 0) return;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&enter, &leave).scopes({at::RecordScope::FUNCTION}));
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
  gpu::Trace* trace = gpu::Trace::current();
  if (trace == nullptr) return;
  const char* name = operators.empty() ? "an operator" : operators.back();
  trace->record(gpu::TraceKind::kOperator, trace->intern(name), 0, 0, length,
                correlations.empty() ? 0 : correlations.back());
}

void note_shader(std::string_view name, std::uint64_t threads, std::uint64_t began_ns) noexcept {
  const std::uint64_t length = gpu::Trace::now_ns() - began_ns;
  gpu::Trace* trace = gpu::Trace::current();
  if (trace == nullptr) return;
  trace->record(gpu::TraceKind::kShader, trace->intern(name), 0, threads, length,
                correlations.empty() ? 0 : correlations.back());
}

}  // namespace anymps::backend
