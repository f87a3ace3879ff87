// Makes a bundle of a command: what it needs, and under which circumstances it ran well.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/runbook/trial/session.h"

namespace anymps::lab::runbook::handoff {

struct PackOptions {
  std::string bundle;  // the file to write
  std::vector<std::string> included;
  std::string profile;  // a file, or the number of a run in the logbook
  bool with_data = false;
};

// The document of `anymps handoff pack` without what Session::finish adds:
// {"bundle","sha256","files","bytes","archive_bytes","golden":{..},"lockfiles":[..],"left_out":[{"path","why"}],
//  "withheld":[..],"data":{"path","sha256","files","bytes","packed"}|null,"notes":[..]}
// Throws std::runtime_error where there is nothing to pack or it cannot be written.
nlohmann::json pack_handoff(const PackOptions& options, const trial::SessionOptions& session_options,
                            trial::Session& session);

}  // namespace anymps::lab::runbook::handoff
