// Under which circumstances a run took place: what reviewers ask for when two figures differ. Goes into the facts of
// the logbook (lab/runbook/log/fields.h says how each is called there).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lab/host/cache_folders.h"
#include "lab/host/platform.h"

namespace anymps::lab::runbook::trial {

// What cannot be found out without being named.
struct CircumstanceOptions {
  std::string data;            // the data set: a file or a folder
  std::string artifact_store;  // the host to measure the way to
  std::string resolution;
  std::string owner;
};

// At the beginning of a run. What the system does not tell is null.
nlohmann::json circumstances(const CircumstanceOptions& options);

// What changes while it runs: "swap", "thermal", "load", "memory_free_bytes", "power_adapter", "low_power_mode",
// "battery_share". They are among the circumstances, too.
nlohmann::json conditions_now();

nlohmann::json to_json(const host::ThermalState& thermal);
nlohmann::json to_json(const std::vector<host::CacheMount>& mounts);

}  // namespace anymps::lab::runbook::trial
