#include "backend/observe/check_watch.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <string>

#include "backend/observe/check.h"
#include "backend/observe/check_arguments.h"
#include "backend/observe/check_races.h"
#include "backend/observe/check_release.h"
#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/call_site.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::observe {
namespace {

thread_local std::uint64_t calls_here = 0;

// Lines are looked up for the first calls, and then for one in so many: loops come by again.
constexpr std::uint64_t kAllLines = 1024;
constexpr std::uint64_t kOneLineIn = 61;
constexpr std::size_t kMostLines = 24;

void note_lines(const char* what) {
  gpu::trace::Trace* trace = gpu::trace::Trace::current();
  if (trace == nullptr) return;
  const std::uint32_t name = trace->intern(what);
  for (const std::string& site : runtime::call_sites(kMostLines)) {
    trace->record(gpu::trace::TraceKind::kWork, name, trace->intern(site));
  }
}

// What the CPU calls to do the device's work are no calls of the user's.
std::unique_ptr<at::ObserverContext> check_call(const at::RecordFunction& function) {
  if (runtime::RouteScope::active()) return nullptr;
  const std::uint64_t calls = ++calls_here;
  if ((calls < kAllLines || calls % kOneLineIn == 0) && has_device_tensor(function)) note_lines("work");
  check_release(function);
  check_arguments(function);
  check_races(function);
  return nullptr;
}

}  // namespace

bool has_device_tensor(const at::RecordFunction& function) {
  return std::ranges::any_of(function.inputs(),
                             [](const c10::IValue& input) { return runtime::device_tensor(input) != nullptr; });
}

void watch_calls() {
  static const at::CallbackHandle handle = at::addGlobalCallback(
      at::RecordFunctionCallback(&check_call).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  (void)handle;
  runtime::DeviceQueue::take_no_operators();
  gpu::trace::Trace::begin_details();  // RouteScope measures the device's time from here on
}

void note_waiting_lines() { note_lines("wait"); }

std::uint64_t calls_so_far() noexcept { return calls_here; }

}  // namespace anymps::backend::observe
