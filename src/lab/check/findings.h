// What a run's traces say against its program: a finding for each rule, subject and line, all processes added up.
//
// What the recorder wrote down is taken as it is; what only the whole run shows (memory: check_memory.h; clocks:
// check_timing.h) is found here in the lab.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/check_rules.h"
#include "lab/source_site.h"
#include "lab/trace_reader.h"

namespace anymps::lab {

struct Finding {
  const CheckRule* rule = nullptr;
  Severity severity = Severity::kNote;  // the rule's, as the user wants it
  std::string subject;                  // "aten::lu"; may be empty
  SourceSite site;
  std::uint64_t count = 0;
  std::uint64_t total = 0;  // in the rule's unit
  std::string detail;       // a sentence, where there is more to say
};

// Those that stand in the tallies. A finding whose rule is not known becomes a line in `caveats`.
std::vector<Finding> recorded_findings(const std::vector<TraceFile>& traces, std::vector<std::string>& caveats);

// "runs on MPS from PyTorch 2.14.0 on", or that no known release has it; relative to the release that is simulated
// ("2.13.0", "2.13.0+cpu"). Empty for an operator that no table lists, or that the release has.
std::string operator_arrival(std::string_view name, std::string_view release);

}  // namespace anymps::lab
