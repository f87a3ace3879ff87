// What a run did, added up over its processes. One screen shows it (run_screen.h); JSON carries all of it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/host/child.h"
#include "lab/trace/reader.h"

namespace anymps::lab::trace {

// Steps that one line of the script makes.
struct StepSeries {
  std::string name;  // the optimiser's class, or "step" where the script called anymps.step()
  std::string site;
  std::uint64_t count = 0;
  double first_seconds = 0;  // from the import of torch to the end of the first step
  // Over the intervals that the ring still holds, the first step left out. Zero where there is none.
  std::uint64_t intervals = 0;
  std::size_t threads = 0;  // that took steps here; each has intervals of its own
  double median_seconds = 0;
  double lower_quartile_seconds = 0;
  double upper_quartile_seconds = 0;

  double per_second() const { return median_seconds > 0 ? 1 / median_seconds : 0; }
};

struct Counted {
  std::string name;
  std::string site;
  std::uint64_t count = 0;
};

struct Memory {
  // Of the process that had the most; processes do not share a limit.
  std::uint64_t tensor_bytes = 0;
  std::uint64_t block_bytes = 0;  // tensors and temporaries: what the limit is held against
  std::uint64_t driver_bytes = 0;
  std::uint64_t limit_bytes = 0;           // 0 where none is known
  std::uint64_t largest_buffer_bytes = 0;  // that was asked for at once; a Mac has a limit for that, too
};

struct RunSummary {
  std::vector<std::string> command;
  int status = 0;
  int signal = 0;
  bool interrupted = false;
  double seconds = 0;

  std::size_t processes = 0;  // that used the device
  std::map<std::string, std::string> facts;
  std::vector<StepSeries> steps;  // the one to quote first
  std::uint64_t epochs = 0;
  Memory memory;
  // Most frequent first.
  std::vector<Counted> fallbacks;
  std::vector<Counted> synchronisations;
  std::vector<Counted> float64;
  std::vector<Counted> out_of_memory;
  std::vector<Counted> too_large;  // single buffers beyond what the Mac allows
  std::vector<Counted> errors;
  // What the figures above may lack, in words.
  std::vector<std::string> caveats;
};

struct RunReport {
  RunSummary run;
  std::string versus_arguments;
  std::optional<RunSummary> versus;

  // How many times as fast the run was as its counterpart; nothing where either took no measured step.
  std::optional<double> speed_ratio() const;
};

RunSummary summarise(const host::ChildCommand& command, const host::ChildResult& result,
                     const std::vector<TraceFile>& traces);

nlohmann::json to_json(const RunReport& report);

std::uint64_t total_of(const std::vector<Counted>& events);

// "SIGKILL" for 9; the number where the system has no name.
std::string signal_name(int number);

}  // namespace anymps::lab::trace
