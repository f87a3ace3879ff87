// The memory's history while somebody records it. What happened stands in the trace, written by the Mac's books
// (gpu::Ledger::record_events); who asked for it stands here, as Python's stacks under the numbers that the trace has.
#pragma once

#include <torch/csrc/profiler/combined_traceback.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu/memory/ledger.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::runtime {

using Stacks = std::unordered_map<std::uint64_t, std::shared_ptr<torch::CapturedTraceback>>;

struct MemorySnapshot {
  gpu::memory::Ledger::Books books;
  std::vector<gpu::trace::TraceEvent> events;  // of memory, oldest first, up to the moment of the books
  std::uint64_t dropped = 0;                   // events of the books that are not among them
  std::uint64_t overwritten = 0;               // those of them for which max_entries had room, but not the trace
  Stacks stacks;                               // of the above
};

// How many entries of PyTorch's format an event is: it has a free's request and its completion.
constexpr std::size_t entries_of(gpu::trace::TraceKind kind) { return kind == gpu::trace::TraceKind::kFree ? 2 : 1; }

// Begins to record; where it was begun, changes what is kept. The snapshot shows the last `max_entries` entries;
// `stacks` says whether it shows who asked. False where there is no memory for a trace. A forked child records nothing
// until it asks itself.
bool record_memory(std::size_t max_entries, bool stacks);
// Ends it, and forgets it.
void stop_recording_memory();

// The books as they are, and what was recorded.
MemorySnapshot memory_snapshot();

// The number under which the current stack is kept from here on; 0 where none is wanted, which costs one load. It may
// take the GIL: call it without a lock.
std::uint64_t stack_of_allocation();

}  // namespace anymps::backend::runtime
