// The logbook for other programs and for documents.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/runbook/log/document.h"

namespace anymps::lab::runbook::log {

// Everything: runs with their facts, documents and samples.
nlohmann::json log_to_json(const std::vector<RunWithSamples>& runs);

// A line a run: what it was, every field of the logbook, and its first figure. As RFC 4180 has it, but with plain line
// breaks.
std::string log_to_csv(const std::vector<RunWithSamples>& runs);

// A table of what is asked first.
std::string log_to_markdown(const std::vector<RunWithSamples>& runs);

// A paragraph for a README: with what the figures of that run were made.
std::string log_to_paragraph(const RunWithSamples& run);

}  // namespace anymps::lab::runbook::log
