// What a run's traces say against its program: a finding for each rule, subject and line, all processes added up.
//
// What the recorder wrote down is taken as it is; what only the whole run shows (memory: memory.h; clocks:
// timing.h) is found here in the lab.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/check/rules.h"
#include "lab/trace/reader.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::check {

// What going from the installed PyTorch to the simulated one does to a finding.
enum class UpgradeEffect : std::uint8_t {
  kNone,    // it is there with both, or nobody knows
  kBreaks,  // it is there with the simulated one alone
  kGains,   // it is there with the installed one alone: a note says so
};
std::string_view to_text(UpgradeEffect effect);  // "breaks"; empty for none

// Where the program was checked as another release than the installed one.
struct Upgrade {
  std::size_t from = 0;  // of gpu::history::torch_releases()
  std::size_t to = 0;
};
std::optional<Upgrade> upgrade_of(const std::vector<trace::TraceFile>& traces);

struct Finding {
  const CheckRule* rule = nullptr;
  Severity severity = Severity::kNote;  // the rule's, as the user wants it
  std::string subject;                  // "aten::lu"; may be empty
  trace::SourceSite site;
  std::uint64_t count = 0;
  std::uint64_t total = 0;  // in the rule's unit
  std::string detail;       // a sentence, where there is more to say
  UpgradeEffect upgrade = UpgradeEffect::kNone;
};

// Those that stand in the tallies. A finding whose rule is not known becomes a line in `caveats`.
std::vector<Finding> recorded_findings(const std::vector<trace::TraceFile>& traces, std::vector<std::string>& caveats);

// "runs on MPS from PyTorch 2.14.0 on", or that no known release has it; relative to the release that is simulated
// ("2.13.0", "2.13.0+cpu"). Empty for an operator that no table lists, or that the release has.
std::string operator_arrival(std::string_view name, std::string_view release);

}  // namespace anymps::lab::check
