// What to do when a run ended out of memory: the four things that people are told to try, each
// with the figures of this run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/mac_profile.h"
#include "lab/run_summary.h"
#include "lab/terminal.h"

namespace anymps::lab {

// The Mac that was simulated, as far as memory goes.
struct SimulatedMac {
  std::string name;
  std::uint64_t memory = 0;
  std::uint64_t working_set = 0;

  static SimulatedMac of(const gpu::ChosenMac& chosen);
};

// Empty where the run met no out-of-memory error.
std::string memory_remedies(const RunSummary& run, const SimulatedMac& mac, const Terminal& terminal);

// The batch size that the command line names (--batch-size 64, --batch_size=64, --bs 64, -b 64); 0 where it names none.
std::uint64_t batch_in(const std::vector<std::string>& words);

}  // namespace anymps::lab
