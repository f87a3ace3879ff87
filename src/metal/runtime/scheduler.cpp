#include "metal/runtime/scheduler.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "metal/runtime/guarded_memory.h"

namespace anymps::metal::runtime {
namespace {

constexpr std::size_t kFrameRange = std::size_t{1} << 30;
constexpr std::uint32_t kNowhere = UINT32_MAX;

// Memory that a thread of the CPU uses for one threadgroup after the other.
struct Workspace {
  std::vector<Coroutine*> threads = std::vector<Coroutine*>(abi::kMostThreads + 1);
  std::vector<std::uint32_t> waits = std::vector<std::uint32_t>(abi::kMostThreads);
  std::unique_ptr<abi::Simdgroup[]> simdgroups = std::make_unique<abi::Simdgroup[]>(abi::kMostThreads / abi::kLanes);
  GuardedMemory frames{Guarded::kFrames, kFrameRange};

  static Workspace& of_this_thread() {
    static thread_local Workspace workspace;
    return workspace;
  }
};

class Threadgroup {
 public:
  Threadgroup(std::span<const abi::CooperativeCall> points, Workspace& workspace, std::uint32_t threads,
              Watcher* watcher)
      : points_(points),
        workspace_(workspace),
        watcher_(watcher),
        threads_(threads),
        simdgroups_((threads + abi::kLanes - 1) / abi::kLanes) {
    for (std::uint32_t i = threads; i < simdgroups_ * abi::kLanes; ++i)
      simdgroup(i / abi::kLanes).waits[i % abi::kLanes] = 0;
  }

  void run() {
    while (run_to_barriers()) open_barriers();
  }

 private:
  abi::Simdgroup& simdgroup(std::uint32_t index) { return workspace_.simdgroups[index]; }
  bool is_barrier(std::uint32_t point) const { return points_[point].op == abi::CooperativeOp::kThreadgroupBarrier; }

  static std::uint32_t lanes_at(const abi::Simdgroup& group, std::uint32_t point) {
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < abi::kLanes; ++lane) {
      mask |= static_cast<std::uint32_t>(group.waits[lane] == point + 1) << lane;
    }
    return mask;
  }

  // The earliest cooperative call within the simdgroup that a lane waits for.
  std::uint32_t next_meeting(const abi::Simdgroup& group) const {
    std::uint32_t next = kNowhere;
    for (const std::uint32_t waits : group.waits) {
      if (waits != 0 && waits - 1 < next && !is_barrier(waits - 1)) next = waits - 1;
    }
    return next;
  }

  void resume(std::uint32_t index, std::uint32_t mask) {
    for (; mask != 0; mask &= mask - 1) {
      Coroutine* thread = workspace_.threads[index * abi::kLanes + static_cast<unsigned>(std::countr_zero(mask))];
      thread->resume(thread);
    }
  }

  // True while a thread waits at a barrier. Simdgroups take turns, from one cooperative call to the next, because on a
  // GPU they run side by side: kernels that lack a barrier work there (PyTorch's large_m_int8pack_mm does).
  bool run_to_barriers() {
    bool waiting = false;
    for (bool moved = true; moved;) {
      moved = waiting = false;
      for (std::uint32_t s = 0; s < simdgroups_; ++s) {
        if (run_to_next_meeting(s)) {
          moved = true;
        } else {
          waiting |= std::ranges::any_of(simdgroup(s).waits, [](std::uint32_t waits) { return waits != 0; });
        }
      }
    }
    return waiting;
  }

  bool run_to_next_meeting(std::uint32_t index) {
    abi::Simdgroup& group = simdgroup(index);
    const std::uint32_t point = next_meeting(group);
    if (point == kNowhere) return false;
    const std::uint32_t mask = lanes_at(group, point);
    abi::perform(points_[point], group, mask);
    if (watcher_ != nullptr) watcher_->met(index, mask);
    resume(index, mask);
    return true;
  }

  void open_barriers() {
    if (watcher_ != nullptr) watcher_->opens(std::span(workspace_.simdgroups.get(), simdgroups_), threads_);
    for (std::uint32_t s = 0; s < simdgroups_; ++s) {
      std::uint32_t mask = 0;
      for (unsigned lane = 0; lane < abi::kLanes; ++lane) {
        mask |= static_cast<std::uint32_t>(simdgroup(s).waits[lane] != 0) << lane;
      }
      resume(s, mask);
    }
  }

  std::span<const abi::CooperativeCall> points_;
  Workspace& workspace_;
  Watcher* watcher_;
  const std::uint32_t threads_;
  const std::uint32_t simdgroups_;
};

std::uint32_t threads_of(const abi::Geometry& geometry, std::array<std::uint32_t, 3> group) {
  std::uint32_t threads = 1;
  for (unsigned i = 0; i < 3; ++i) {
    threads *= std::min(geometry.threadgroup[i], geometry.grid[i] - group[i] * geometry.threadgroup[i]);
  }
  return threads;
}

}  // namespace

void run_lanes(SpawnLanes spawn, void* const* bindings, const abi::Geometry& geometry,
               std::array<std::uint32_t, 3> group, std::byte* threadgroup_memory) {
  Workspace& workspace = Workspace::of_this_thread();
  std::byte* frames = workspace.frames.begin();
  spawn(bindings, &geometry, group[0], group[1], group[2], workspace.threads.data(), workspace.waits.data(), &frames,
        threadgroup_memory);
  // Those that take turns go first; barriers open when all others have ended.
  for (std::uint32_t next = abi::kTakesTurns; next != 0;) {
    const std::uint32_t now = next;
    next = 0;
    for (std::uint32_t i = 0; workspace.threads[i] != nullptr; ++i) {
      Coroutine* lanes = workspace.threads[i];
      if (lanes->resume == nullptr) continue;
      const std::uint32_t& waits = workspace.waits[i];
      if (waits == now) lanes->resume(lanes);
      if (lanes->resume != nullptr) next = std::max(next, waits);
    }
  }
}

void run_threadgroup(Spawn spawn, std::span<const abi::CooperativeCall> points, void* const* bindings,
                     const abi::Geometry& geometry, std::array<std::uint32_t, 3> group, std::byte* threadgroup_memory,
                     Watcher* watcher) {
  Workspace& workspace = Workspace::of_this_thread();
  const std::uint32_t threads = threads_of(geometry, group);
  Threadgroup work(points, workspace, threads, watcher);
  std::byte* frames = workspace.frames.begin();
  spawn(bindings, &geometry, group[0], group[1], group[2], workspace.threads.data(), workspace.simdgroups.get(),
        &frames, threadgroup_memory);
  work.run();
}

}  // namespace anymps::metal::runtime
