// A finished run, of the logbook or of a file that a command's --json was written to, and what tells two of them apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::logbook {

struct FinishedRun {
  std::int64_t id = 0;  // in the logbook; 0: of a file
  std::string name;     // "run 12", or that of the file
  std::string folder;   // in which it was started, where that is known
  std::string key;      // of the command with its settings, where that is known
  nlohmann::json document;

  std::string verb() const;
  // Its name, or else what its hardware is.
  std::string host() const;
  // That was simulated; empty: none.
  std::string mac() const;
  // Its figures are those of a device that anymps simulates, and not of a Mac.
  bool simulated() const;
};

FinishedRun finished(const LoggedRun& run);

// The documents in a file: one, a run of the logbook as JSON, or a list of either. Throws std::runtime_error that names
// the file where it is none of these.
std::vector<FinishedRun> finished_in(const std::filesystem::path& file);

// Whether both ran the same script with the same arguments: the interpreter and the batch size (`batch_argument`)
// aside, in the same folder where both have one.
bool same_command(const FinishedRun& one, const FinishedRun& other, const std::string& batch_argument);

}  // namespace anymps::lab::runbook::logbook
