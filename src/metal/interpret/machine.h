// One threadgroup at work: its simdgroups, each in lockstep, and the barriers between them.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "metal/interpret/program.h"

namespace anymps::metal::interpret {

class Simdgroup {
 public:
  enum class State : std::uint8_t { kRunning, kAtBarrier, kEnded };

  // The lanes of `lanes` begin `function`, as the simdgroup with that number of its threadgroup.
  void begin(const Function& function, Mask lanes, unsigned index = 0);
  // The registers of the function that was begun, to put its arguments there.
  Lanes arguments();

  // Runs on, for so many blocks at most.
  State run(unsigned blocks);

 private:
  struct Frame {
    const Function* function = nullptr;
    std::unique_ptr<std::byte[]> registers;
    std::size_t register_bytes = 0;
    std::unique_ptr<std::byte[]> own;
    std::size_t own_bytes = 0;
    std::array<unsigned, kLanes> position{};
    Mask live = 0;     // has not returned
    Mask running = 0;  // is in `block`
    const Block* block = nullptr;
    std::size_t next = 0;  // action of the block
  };

  void enter(const Function& function, Mask lanes);
  bool choose(Frame& frame);
  // False at a barrier.
  bool act(Frame& frame, const Action& action);
  void leave_block(Frame& frame);

  std::vector<std::unique_ptr<Frame>> frames_;  // used again, call after call
  std::size_t depth_ = 0;
  unsigned index_ = 0;
  std::vector<std::byte> moved_;  // by phis of one edge
};

// Runs all until they end. A barrier opens when every simdgroup that has not ended is at one. Lanes that do not take
// part in their simdgroup's barrier count as having come with it: Metal wants all threads there, or none. Throws
// pipeline::KernelError, also where an runtime::WatchedRun is to end.
void run_threadgroup(const std::string& kernel, std::vector<Simdgroup>& simdgroups);

}  // namespace anymps::metal::interpret
