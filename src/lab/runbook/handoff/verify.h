// Takes a bundle on the other side: whether it is whole, and what differs here from where it was made.
#pragma once

#include <string>

#include "lab/runbook/document/verdict.h"
#include "lab/runbook/handoff/bundle_reader.h"
#include "lab/runbook/handoff/document.h"
#include "lab/runbook/screen/progress.h"

namespace anymps::lab::runbook::handoff {

struct VerifyOptions {
  std::string bundle;
  std::string into;    // empty: it is not unpacked
  std::string python;  // empty: the one that a command without a path would take
  std::string data;    // empty: the data set is not compared, unless the bundle brings it
  std::string sha256;  // of the manifest, where the user knows it; empty: unknown
  BundleLimits limits;
};

// The bundle, read whole. Throws BundleError, also where its manifest is another than the user says.
Bundle opened_bundle(const std::string& path, const std::string& sha256, const BundleLimits& limits);

struct VerifyResult {
  document::Verdict verdict = document::Verdict::kUnknown;  // bad where something differs that matters
  VerifyDocument document;                                  // but for its head
};

VerifyResult verify_handoff(const Bundle& bundle, const VerifyOptions& options, screen::Progress& progress);

}  // namespace anymps::lab::runbook::handoff
