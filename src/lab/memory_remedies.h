// What to do when a run on a chosen Mac ended for want of memory: the four things that people are told to try, each
// with the figures of this run.
#pragma once

#include <string>

#include "gpu/mac_profile.h"
#include "lab/run_summary.h"
#include "lab/terminal.h"

namespace anymps::lab {

// Empty where the run met no out-of-memory error.
std::string memory_remedies(const RunSummary& run, const gpu::MacProfile& mac, gpu::MacosVersion macos,
                            const Terminal& terminal);

// The batch size that the command line names (--batch-size 64, --batch_size=64, --bs 64, -b 64); 0 where it names none.
std::uint64_t batch_in(const std::vector<std::string>& words);

}  // namespace anymps::lab
