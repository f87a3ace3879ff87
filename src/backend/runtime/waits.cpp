#include "backend/runtime/waits.h"

#include <utility>

#include "backend/runtime/call_site.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::runtime {
namespace {

struct OneWait {
  unsigned depth = 0;
  const char* name = nullptr;
  bool waited = false;  // since the outermost began
};
thread_local OneWait one_wait;

}  // namespace

std::atomic<bool> DeviceWork::pending_{false};
std::atomic<std::uint64_t> DeviceWork::ns_{0};

void DeviceWork::done() noexcept {
  pending_.store(false, std::memory_order_relaxed);
  ns_.store(0, std::memory_order_relaxed);
}

void note_wait(const char* what) {
  gpu::trace::Trace* trace = gpu::trace::Trace::current();
  const std::uint64_t waited_ns = DeviceWork::ns_.exchange(0, std::memory_order_relaxed);
  if (!DeviceWork::pending_.exchange(false, std::memory_order_relaxed) || trace == nullptr) return;
  if (one_wait.depth != 0 && (one_wait.name == nullptr || std::exchange(one_wait.waited, true))) return;
  const char* name = one_wait.depth != 0 ? one_wait.name : what;
  trace->record(gpu::trace::TraceKind::kSync, trace->intern(name), trace->intern(call_site()), 0, waited_ns);
}

void begin_one_wait(const char* name) {
  if (one_wait.depth++ != 0) return;
  one_wait.name = name;
  one_wait.waited = false;
}

void end_one_wait() { --one_wait.depth; }

}  // namespace anymps::backend::runtime
