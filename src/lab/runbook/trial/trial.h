// A trial: the user's command run once under the recorder. Whatever becomes of it is a result: it may crash, be killed,
// run out of memory or hang, and the lab goes on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/history/mac_profile.h"
#include "lab/host/resident_set.h"
#include "lab/host/run_folder.h"
#include "lab/runbook/document/outcome.h"
#include "lab/runbook/trial/recording.h"
#include "lab/trace/reader.h"

namespace anymps::lab::runbook::trial {

// The last lines that a child printed, which have the error of one that failed.
std::string error_lines(const std::string& output);

// How the user's command is to be run, whichever trial it is for.
struct TrialSettings {
  std::vector<std::string> command;                                // complete: with Python in front
  std::map<std::string, std::string> environment;                  // the Mac to simulate, fallback
  std::optional<gpu::history::MacProfile> mac;                     // the same Mac, where one is chosen
  gpu::history::MacosVersion macos = gpu::history::kDefaultMacos;  // that it has
  // A child that records nothing for so long, and computes nothing meanwhile, hangs; one that records nothing for ten
  // times as long hangs, too.
  double hang_seconds = 60;
  bool show_output = false;  // the child's output on standard error, when it ends
};

struct Trial {
  document::Outcome outcome = document::Outcome::kNotStarted;
  std::string why;  // a sentence, where it did not run
  int status = 0;   // as a shell has it
  double seconds = 0;
  std::string output;  // the last lines of what it printed
  Recording recording;
  std::vector<trace::TraceFile> traces;     // of the device that anymps provides; empty elsewhere
  host::ResidentSet resident;               // of all its processes, at the peak
  std::shared_ptr<host::RunFolder> folder;  // where its files are, as long as this lives

  const RecordedProcess* main() const { return recording.main(); }
  // The most that the device held: exact on the device that anymps provides, elsewhere what the driver had at the end
  // of a step.
  std::uint64_t peak_bytes() const;
  // What every document has of a trial that did not run; nothing of one that did.
  std::optional<document::Failure> failure() const;
};

// Told how many steps or rounds were recorded so far.
using TrialProgress = std::function<void(std::uint64_t steps)>;

// Runs it with `spec` for the recorder (python/anymps/_lab/spec.py). Throws Interrupted where the user stops it, and
// std::runtime_error where the command cannot be started at all.
Trial run_trial(const TrialSettings& settings, const nlohmann::json& spec, const TrialProgress& progress = {});

}  // namespace anymps::lab::runbook::trial
