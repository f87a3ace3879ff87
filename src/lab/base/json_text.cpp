#include "lab/base/json_text.h"

#include <nlohmann/json.hpp>

#include "gpu/support/json_depth.h"

namespace anymps::lab::base {

using nlohmann::json;

std::string json_line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string unquoted_json(const json& value) { return value.is_string() ? value.get<std::string>() : json_line(value); }

std::string json_pages(const json& value) { return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

json json_of(std::string_view text) {
  if (gpu::support::is_nested_too_deep(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

}  // namespace anymps::lab::base
