// Makes a bundle of a command: what it needs, and under which circumstances it ran well.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/handoff/document.h"
#include "lab/runbook/trial/session.h"

namespace anymps::lab::runbook::handoff {

struct PackOptions {
  std::string bundle;  // the file to write
  std::vector<std::string> included;
  std::string profile;  // a file, or the number of a run in the logbook
  bool with_data = false;
};

// The document but for its head. Throws std::runtime_error where there is nothing to pack or it cannot be written.
PackDocument pack_handoff(const PackOptions& options, const trial::SessionOptions& session_options,
                          trial::Session& session);

}  // namespace anymps::lab::runbook::handoff
