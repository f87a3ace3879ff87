#include "backend/python/memory.h"

#include <torch/csrc/profiler/python/combined_traceback.h>

#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/observe/wall_clock.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/memory_history.h"
#include "gpu/device.h"
#include "gpu/memory/unified_memory.h"

namespace anymps::backend::python {
namespace {

py::dict memory() {
  const runtime::MemoryUse use = runtime::memory_use();
  py::dict result;
  result["tensors"] = use.allocated.current;
  result["tensors_peak"] = use.allocated.peak;
  result["with_temporaries"] = use.with_temporaries;
  result["with_temporaries_peak"] = use.with_temporaries_peak;
  result["driver"] = use.reserved.current;
  result["driver_peak"] = use.reserved.peak;
  result["this_machine"] = use.resident;
  result["allocations"] = use.allocations;
  result["frees"] = use.frees;
  return result;
}

// Lists of PyTorch's frames by number, each made once: thousands of events share them.
class Frames {
 public:
  explicit Frames(const runtime::Stacks& stacks) {
    std::vector<std::uint64_t> numbers;
    std::vector<torch::CapturedTraceback*> tracebacks;
    for (const auto& [number, traceback] : stacks) {
      numbers.push_back(number);
      tracebacks.push_back(traceback.get());
    }
    std::vector<py::object> lists = torch::py_symbolize(tracebacks);
    for (std::size_t i = 0; i < numbers.size(); ++i) by_number_.emplace(numbers[i], std::move(lists[i]));
  }

  py::object of(std::uint64_t number) const {
    const auto found = by_number_.find(number);
    return found != by_number_.end() ? found->second : py::list();
  }

 private:
  std::unordered_map<std::uint64_t, py::object> by_number_;
};

py::dict block(std::uint64_t address, std::size_t size, std::size_t requested, bool in_use, py::object frames) {
  py::dict result;
  result["address"] = address;
  result["size"] = size;
  result["requested_size"] = requested;
  result["state"] = in_use ? "active_allocated" : "inactive";
  result["frames"] = std::move(frames);
  return result;
}

// Blocks without a gap: what no buffer has is one that is not in use.
py::dict segment(const gpu::memory::Ledger::Books::Segment& heap, const Frames& frames) {
  py::list blocks;
  std::size_t end = 0;
  std::size_t in_use = 0;
  std::size_t requested = 0;
  for (const gpu::memory::Ledger::Books::Entry& entry : heap.buffers) {
    if (entry.offset > end) blocks.append(block(heap.address + end, entry.offset - end, 0, false, py::list()));
    blocks.append(
        block(heap.address + entry.offset, entry.size, entry.requested, entry.in_use, frames.of(entry.stack)));
    end = entry.offset + entry.size;
    if (entry.in_use) in_use += entry.size;
    requested += entry.requested;
  }
  if (end < heap.size) blocks.append(block(heap.address + end, heap.size - end, 0, false, py::list()));
  py::dict result;
  result["device"] = 0;
  result["address"] = heap.address;
  result["total_size"] = heap.size;
  result["allocated_size"] = in_use;
  result["active_size"] = in_use;
  result["requested_size"] = requested;
  result["stream"] = 0;
  result["segment_type"] = heap.small_pool ? "small" : "large";
  result["segment_pool_id"] = py::make_tuple(0, 0);
  result["is_expandable"] = false;
  result["frames"] = frames.of(heap.stack);
  result["blocks"] = std::move(blocks);
  return result;
}

const char* action_of(gpu::trace::TraceKind kind) {
  switch (kind) {
    case gpu::trace::TraceKind::kAlloc:
      return "alloc";
    case gpu::trace::TraceKind::kFree:
      return "free_requested";
    case gpu::trace::TraceKind::kHeapAlloc:
      return "segment_alloc";
    case gpu::trace::TraceKind::kHeapFree:
      return "segment_free";
    default:
      return "oom";
  }
}

py::list trace_of(const runtime::MemorySnapshot& snapshot, const Frames& frames) {
  // What the heaps held before the first event, so that each refusal can say what was left then.
  std::size_t reserved = 0;
  for (const gpu::memory::Ledger::Books::Segment& heap : snapshot.books.heaps) reserved += heap.size;
  for (const gpu::trace::TraceEvent& event : snapshot.events) {
    if (event.kind == gpu::trace::TraceKind::kHeapAlloc) reserved -= event.b;
    if (event.kind == gpu::trace::TraceKind::kHeapFree) reserved += event.b;
  }
  const std::int64_t clocks_apart = observe::since_1970_minus_trace_ns();
  py::list result;
  for (const gpu::trace::TraceEvent& event : snapshot.events) {
    py::dict entry;
    entry["action"] = action_of(event.kind);
    if (event.kind == gpu::trace::TraceKind::kOutOfMemory) {
      const std::size_t limit = gpu::device_facts().recommended_working_set;
      entry["size"] = event.a;
      entry["device_free"] = limit > reserved ? limit - reserved : 0;
    } else {
      entry["addr"] = event.a;
      entry["size"] = event.b;
    }
    entry["stream"] = 0;
    entry["time_us"] = (static_cast<std::int64_t>(event.time_ns) + clocks_apart) / 1000;
    entry["frames"] = frames.of(event.c);
    if (event.kind == gpu::trace::TraceKind::kHeapAlloc) reserved += event.b;
    if (event.kind == gpu::trace::TraceKind::kHeapFree) reserved -= event.b;
    result.append(entry);
    if (event.kind == gpu::trace::TraceKind::kFree) {  // at once: nothing is queued
      const py::dict done = py::reinterpret_borrow<py::dict>(entry.attr("copy")());
      done["action"] = "free_completed";
      result.append(done);
    }
  }
  return result;
}

py::dict settings() {
  const gpu::memory::Ledger& ledger = gpu::memory::UnifiedMemory::instance().ledger();
  const auto limit = [](std::size_t bytes) {
    return bytes == gpu::memory::Ledger::kUnlimited ? py::object(py::none()) : py::object(py::int_(bytes));
  };
  py::dict result;
  result["recommended_max_memory"] = gpu::device_facts().recommended_working_set;
  result["high_watermark"] = limit(ledger.high_limit());
  result["low_watermark"] = limit(ledger.low_limit());
  return result;
}

// PyTorch's format of torch.cuda.memory._snapshot(), and MemorySnapshot's counts of what it lacks.
std::tuple<py::dict, std::uint64_t, std::uint64_t> snapshot() {
  const runtime::MemorySnapshot taken = runtime::memory_snapshot();
  const Frames frames(taken.stacks);
  py::list segments;
  for (const gpu::memory::Ledger::Books::Segment& heap : taken.books.heaps) segments.append(segment(heap, frames));
  py::list traces;
  traces.append(trace_of(taken, frames));
  py::dict result;
  result["segments"] = std::move(segments);
  result["device_traces"] = std::move(traces);
  result["allocator_settings"] = settings();
  return {result, taken.dropped, taken.overwritten};
}

}  // namespace

void bind_memory(py::module& m) {
  m.def("memory", &memory);
  m.def("memory_limit", &runtime::memory_limit);
  m.def("memory_is_there", [] { return gpu::memory::UnifiedMemory::if_made() != nullptr; });
  m.def("record_memory", &runtime::record_memory);
  m.def("stop_recording_memory", &runtime::stop_recording_memory);
  m.def("memory_snapshot", &snapshot);
}

}  // namespace anymps::backend::python
