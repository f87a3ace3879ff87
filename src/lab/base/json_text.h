// JSON as text, and back. Bytes that are no UTF-8 are replaced: paths, marks and what programs print may hold anything.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace anymps::lab::base {

std::string json_line(const nlohmann::json& value);

// A string without its quotes, all else as json_line() has it.
std::string unquoted_json(const nlohmann::json& value);

// For a file or a terminal: indented, and ending with a line break.
std::string json_pages(const nlohmann::json& value);

// Of a file, of a row, or of what another program printed. Discarded (`is_discarded()`) where it is no JSON or is
// nested too deep (gpu/support/json_depth.h).
nlohmann::json json_of(std::string_view text);

}  // namespace anymps::lab::base
