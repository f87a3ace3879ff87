// Runs a bundle on another host for a short time, and brings the figures back.
#pragma once

#include <cstdint>
#include <string>

#include "lab/runbook/document/verdict.h"
#include "lab/runbook/handoff/bundle_reader.h"
#include "lab/runbook/handoff/document.h"
#include "lab/runbook/trial/session.h"

namespace anymps::lab::runbook::handoff {

struct SmokeOptions {
  std::string host;
  std::string ssh = "ssh";  // the client with its options, as a shell has it
  std::string bundle;
  std::string python = "python3";  // on that host
  std::string folder;              // on that host; empty: one in its login folder, by the bundle's digest
  std::string data;                // on that host; empty: where the bundle has it
  std::uint64_t warm_up = 5;
  std::uint64_t steps = 50;
  std::uint64_t epochs = 10;
  std::uint64_t epoch_steps = 0;  // 0: the script's own epochs
  double threshold = 0.26;        // share by which memory may rise
};

struct SmokeResult {
  document::Verdict verdict = document::Verdict::kUnknown;
  SmokeDocument document;  // but for its head
};

// Throws RemoteError where the host cannot be reached, lacks python or torch, or the run fails there.
SmokeResult smoke_handoff(const Bundle& bundle, const SmokeOptions& options, trial::Session& session);

// Bad where the memory does not hold its level, unknown where that could not be told.
document::Verdict smoke_verdict(const SmokePlateau& plateau);

}  // namespace anymps::lab::runbook::handoff
