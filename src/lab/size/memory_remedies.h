// What to do when a run ended out of memory: the four things that people are told to try, each
// with the figures of this run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/history/mac_profile.h"
#include "lab/base/terminal.h"
#include "lab/trace/run_summary.h"

namespace anymps::lab::size {

// The Mac that was simulated, as far as memory goes.
struct SimulatedMac {
  std::string name;
  std::uint64_t memory = 0;
  std::uint64_t working_set = 0;

  static SimulatedMac of(const gpu::history::ChosenMac& chosen);
};

// Empty where the run met no out-of-memory error.
std::string memory_remedies(const trace::RunSummary& run, const SimulatedMac& mac, const base::Terminal& terminal);

// The batch size that the command line names (--batch-size 64, --batch_size=64, --bs 64, -b 64); 0 where it names none.
std::uint64_t batch_in(const std::vector<std::string>& words);

}  // namespace anymps::lab::size
