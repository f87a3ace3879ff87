// Optional values in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace anymps::lab::base {

template <typename Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace anymps::lab::base
