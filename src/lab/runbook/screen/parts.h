// What the screens of the runbook share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::screen {

// "good" in green, "bad" in red, with what was judged in front.
std::string verdict_line(const nlohmann::json& document, std::string_view what, const base::Terminal& terminal);

// Columns as wide as they need to be; numbers, which is all but the first column, to the right.
std::string columns(const std::vector<std::vector<std::string>>& rows);
// As that, within a terminal's width: without as many of the `spare` columns as it takes, the first of them first, and
// then with names shortened.
std::string columns(std::vector<std::vector<std::string>> rows, const base::Terminal& terminal,
                    const std::vector<std::size_t>& spare = {});

// The document's "notes", a bullet each.
std::string notes_of(const nlohmann::json& document, const base::Terminal& terminal);

// A failed trial's outcome, why, and where its processes were; nothing where `failure` is null.
std::string failure_text(const nlohmann::json& failure, const base::Terminal& terminal);

// A number of the document as text, "-" where there is none.
std::string bytes_at(const nlohmann::json& object, const char* key);
std::string seconds_at(const nlohmann::json& object, const char* key);
std::string percent_at(const nlohmann::json& object, const char* key);
std::string number_at(const nlohmann::json& object, const char* key, int digits = 1);

}  // namespace anymps::lab::runbook::screen
