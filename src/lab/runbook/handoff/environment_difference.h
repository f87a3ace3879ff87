// What differs between the environment that a bundle was made in and another one.
#pragma once

#include <nlohmann/json.hpp>

namespace anymps::lab::runbook::handoff {

// Of two documents of environment.h: [{"kind","name","here","there","severity"}]. `there` is the bundle's, null where
// it has none. Red is what changes results or speed, yellow what may.
nlohmann::json environment_differences(const nlohmann::json& here, const nlohmann::json& there);

// Of two documents of data_manifest.h, in the same form.
nlohmann::json data_differences(const nlohmann::json& here, const nlohmann::json& there);

// Whether one of them is red.
bool has_red(const nlohmann::json& differences);

}  // namespace anymps::lab::runbook::handoff
