// Why a command is faster on one host than on another.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "lab/runbook/handoff/document.h"

namespace anymps::lab::runbook::handoff {

struct HostSpeed {
  Speed figures;
  Environment environment;
};

// Of a finished run of the logbook; nothing where its document tells no speed.
std::optional<HostSpeed> host_speed_of(const nlohmann::json& document, const nlohmann::json& facts);

// The likeliest first; empty where the rates differ by less than a tenth, and Cause::kUnknown where nothing explains
// it.
std::vector<SpeedCause> explain_speed(const HostSpeed& here, const HostSpeed& there);

}  // namespace anymps::lab::runbook::handoff
