#include "metal/interpret/machine.h"

#include <algorithm>

#include "metal/interpret/memory.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/runtime/kernel_guard.h"

namespace anymps::metal::interpret {
namespace {

// Simdgroups take turns, block by block: they are never far apart, as on a GPU, and one may wait for what another
// writes.
constexpr unsigned kBlocksPerTurn = 1;
// Calls within calls: a GPU's compiler would have refused far fewer.
constexpr std::size_t kDeepest = 1000;

void make_room(std::unique_ptr<std::byte[]>& bytes, std::size_t& size, std::size_t wanted) {
  if (wanted <= size) return;
  bytes = std::make_unique_for_overwrite<std::byte[]>(wanted);
  size = wanted;
}

}  // namespace

void Simdgroup::begin(const Function& function, Mask lanes, unsigned index) {
  depth_ = 0;
  index_ = index;
  enter(function, lanes);
}

Lanes Simdgroup::arguments() {
  Frame& frame = *frames_.front();
  return {.registers = frame.registers.get(), .own_memory = frame.own.get(), .active = frame.live};
}

void Simdgroup::enter(const Function& function, Mask lanes) {
  if (depth_ == kDeepest)
    throw pipeline::KernelError(frames_.front()->function->name + ": it calls itself without end");
  if (depth_ == frames_.size()) frames_.push_back(std::make_unique<Frame>());
  Frame& frame = *frames_[depth_++];
  frame.function = &function;
  make_room(frame.registers, frame.register_bytes, function.register_bytes);
  make_room(frame.own, frame.own_bytes, function.own_bytes * kLanes);
  std::fill_n(frame.own.get(), function.own_bytes * kLanes, kStale);
  frame.position.fill(0);
  frame.live = lanes;
  frame.running = 0;
}

bool Simdgroup::choose(Frame& frame) {
  unsigned earliest = ~0U;
  for (Mask rest = frame.live; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (frame.position[lane] < earliest) {
      earliest = frame.position[lane];
      frame.running = 0;
    }
    if (frame.position[lane] == earliest) frame.running |= bit_of(lane);
  }
  if (frame.live == 0) return false;
  frame.block = &frame.function->blocks[frame.function->block_at[earliest]];
  frame.next = 0;
  return true;
}

Simdgroup::State Simdgroup::run(unsigned blocks) {
  while (depth_ != 0) {
    Frame& frame = *frames_[depth_ - 1];
    if (frame.running == 0) {
      if (blocks-- == 0) return State::kRunning;
      if (!choose(frame)) {
        --depth_;
        continue;
      }
    }
    const std::size_t depth = depth_;
    while (frame.next < frame.block->actions.size() && depth == depth_) {
      if (!act(frame, frame.block->actions[frame.next++])) return State::kAtBarrier;
    }
    if (depth == depth_) leave_block(frame);
  }
  return State::kEnded;
}

bool Simdgroup::act(Frame& frame, const Action& action) {
  const Lanes lanes{
      .registers = frame.registers.get(), .own_memory = frame.own.get(), .active = frame.running, .simdgroup = index_};
  switch (action.kind) {
    case Action::Kind::kStep:
      action.step(lanes);
      return true;
    case Action::Kind::kCall: {
      enter(*action.callee, frame.running);
      const Lanes inside{.registers = frames_[depth_ - 1]->registers.get(), .active = frame.running};
      for (const Move& move : action.arguments) {
        lanes.each([&](unsigned lane) { inside.copy(move.to, lane, lanes.read(move.from, lane)); });
      }
      return true;
    }
    case Action::Kind::kThreadgroupBarrier:
      return false;
  }
  return true;
}

void Simdgroup::leave_block(Frame& frame) {
  const Block& block = *frame.block;
  const Lanes lanes{.registers = frame.registers.get(), .active = frame.running};
  frame.running = 0;
  if (block.end == Block::End::kUnreachable) {
    throw pipeline::KernelError(frames_.front()->function->name + ": a thread comes to where none should");
  }
  if (block.end == Block::End::kReturn) {
    if (block.value.shape.count != 0 && depth_ > 1) {
      const Frame& caller = *frames_[depth_ - 2];
      const Lanes outside{.registers = caller.registers.get()};
      const Operand& result = caller.block->actions[caller.next - 1].result;
      lanes.each([&](unsigned lane) { outside.copy(result, lane, lanes.read(block.value, lane)); });
    }
    frame.live &= ~lanes.active;
    return;
  }
  lanes.each([&](unsigned lane) {
    std::size_t chosen = block.edges.size() - 1;
    if (!block.cases.empty()) {
      const auto found = std::ranges::find(block.cases, lanes.bits(block.value, lane));
      chosen = static_cast<std::size_t>(found - block.cases.begin());
    }
    const Edge& edge = block.edges[chosen];
    frame.position[lane] = edge.position;
    // All at once: a phi may be another's operand.
    moved_.clear();
    for (const Move& move : edge.phis) {
      const std::byte* from = lanes.read(move.from, lane);
      moved_.insert(moved_.end(), from, from + move.to.shape.bytes());
    }
    const std::byte* from = moved_.data();
    for (const Move& move : edge.phis) {
      lanes.copy(move.to, lane, from);
      from += move.to.shape.bytes();
    }
  });
}

void run_threadgroup(const std::string& kernel, std::vector<Simdgroup>& simdgroups) {
  std::vector<Simdgroup::State> states(simdgroups.size(), Simdgroup::State::kRunning);
  for (bool ended = false; !ended;) {
    runtime::throw_if_stopped(kernel);
    bool waiting = true;
    ended = true;
    for (std::size_t i = 0; i < simdgroups.size(); ++i) {
      if (states[i] == Simdgroup::State::kRunning) states[i] = simdgroups[i].run(kBlocksPerTurn);
      waiting = waiting && states[i] != Simdgroup::State::kRunning;
      ended = ended && states[i] == Simdgroup::State::kEnded;
    }
    if (waiting) std::ranges::replace(states, Simdgroup::State::kAtBarrier, Simdgroup::State::kRunning);
  }
}

}  // namespace anymps::metal::interpret
