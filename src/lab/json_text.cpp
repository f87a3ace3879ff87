#include "lab/json_text.h"

#include <nlohmann/json.hpp>

namespace anymps::lab {

using nlohmann::json;

std::string json_line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string json_pages(const json& value) { return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace anymps::lab
