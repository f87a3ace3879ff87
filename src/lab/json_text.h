// JSON as text. Bytes that are no UTF-8 are replaced: paths, marks and what programs print may hold anything.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace anymps::lab {

std::string json_line(const nlohmann::json& value);

// For a file or a terminal: indented, and ending with a line break.
std::string json_pages(const nlohmann::json& value);

}  // namespace anymps::lab
