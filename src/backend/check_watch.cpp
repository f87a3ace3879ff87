#include "backend/check_watch.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "backend/argument_tensors.h"
#include "backend/call_site.h"
#include "backend/check.h"
#include "backend/check_arguments.h"
#include "backend/memory.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

struct WaitsOfThread {
  std::uint64_t calls = 0;
  unsigned in_one_wait = 0;
  const char* one_wait = nullptr;
  bool waited = false;  // since the outermost one_wait
};
thread_local WaitsOfThread waits_here;

std::atomic<std::uint64_t> queued_ns{0};

// Lines are looked up for the first calls, and then for one in so many: loops come by again.
constexpr std::uint64_t kAllLines = 1024;
constexpr std::uint64_t kOneLineIn = 61;
constexpr std::size_t kMostLines = 24;

void note_lines(const char* what) {
  gpu::Trace* trace = gpu::Trace::current();
  if (trace == nullptr) return;
  const std::uint32_t name = trace->intern(what);
  for (const std::string& site : call_sites(kMostLines)) {
    trace->record(gpu::TraceKind::kWork, name, trace->intern(site));
  }
}

bool has_device_tensor(const at::RecordFunction& function) {
  return std::ranges::any_of(function.inputs(),
                             [](const c10::IValue& input) { return device_tensor(input) != nullptr; });
}

// What the CPU calls to do the device's work are no calls of the user's.
std::unique_ptr<at::ObserverContext> check_call(const at::RecordFunction& function) {
  if (RouteScope::active()) return nullptr;
  const std::uint64_t calls = ++waits_here.calls;
  if ((calls < kAllLines || calls % kOneLineIn == 0) && has_device_tensor(function)) note_lines("work");
  check_arguments(function);
  return nullptr;
}

}  // namespace

void watch_calls() {
  static const at::CallbackHandle handle = at::addGlobalCallback(
      at::RecordFunctionCallback(&check_call).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  (void)handle;
  gpu::Trace::begin_details();  // RouteScope measures the device's time from here on
}

void note_device_time(std::uint64_t ns) noexcept { queued_ns.fetch_add(ns, std::memory_order_relaxed); }

void note_wait(const char* what) {
  note_lines("wait");
  // With nothing to wait for, a Mac does not wait either.
  const std::uint64_t waited_ns = queued_ns.exchange(0, std::memory_order_relaxed);
  gpu::Trace* trace = gpu::Trace::current();
  WaitsOfThread& thread = waits_here;
  if (trace == nullptr || waited_ns == 0) return;
  if (thread.in_one_wait != 0 && (thread.one_wait == nullptr || std::exchange(thread.waited, true))) return;
  const char* name = thread.in_one_wait != 0 ? thread.one_wait : what;
  trace->record(gpu::TraceKind::kSync, trace->intern(name), trace->intern(call_site()), 0, waited_ns);
}

void note_idle() noexcept { queued_ns.store(0, std::memory_order_relaxed); }

void begin_one_wait(const char* name) {
  WaitsOfThread& thread = waits_here;
  if (thread.in_one_wait++ != 0) return;
  thread.one_wait = name;
  thread.waited = false;
}

void end_one_wait() { --waits_here.in_one_wait; }

std::uint64_t calls_so_far() noexcept { return waits_here.calls; }

}  // namespace anymps::backend
