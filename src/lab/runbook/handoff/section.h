// The sections of `anymps handoff` in the report.
#pragma once

#include <string>
#include <string_view>

#include "lab/runbook/handoff/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::handoff {

constexpr std::string_view kAbout = "What differs between this host and the other.";

std::string pack_section(const section::DocumentRuns<PackDocument>& runs);
std::string verify_section(const section::DocumentRuns<VerifyDocument>& runs);
std::string smoke_section(const section::DocumentRuns<SmokeDocument>& runs);

}  // namespace anymps::lab::runbook::handoff
