// What a handoff comes to.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/handoff/document.h"

namespace anymps::lab::runbook::handoff {

// In one line; empty where there is nothing to say, as of a bundle that was made.
std::string pack_headline(const PackDocument& document);
std::string verify_headline(const VerifyDocument& document);
std::string smoke_headline(const SmokeDocument& document);

}  // namespace anymps::lab::runbook::handoff
