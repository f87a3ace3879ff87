// What the screens of the runbook share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/base/terminal.h"
#include "lab/runbook/document/outcome.h"
#include "lab/runbook/document/verdict.h"

namespace anymps::lab::runbook::screen {

// "good" in green, "bad" in red, with what was judged in front.
std::string verdict_line(std::optional<document::Verdict> verdict, std::string_view what,
                         const base::Terminal& terminal);

// Columns as wide as they need to be; numbers, which is all but the first column, to the right.
std::string columns(const std::vector<std::vector<std::string>>& rows);
// As that, within a terminal's width: without as many of the `spare` columns as it takes, the first of them first, and
// then with names shortened.
std::string columns(std::vector<std::vector<std::string>> rows, const base::Terminal& terminal,
                    const std::vector<std::size_t>& spare = {});

// A bullet each.
std::string notes_text(const std::vector<std::string>& notes, const base::Terminal& terminal);

// A failed trial's outcome, why, and where its processes were; nothing where it did not fail.
std::string failure_text(const std::optional<document::Failure>& failure, const base::Terminal& terminal);

// A number as text, "-" where there is none.
std::string bytes_text(std::optional<double> bytes);
std::string seconds_text(std::optional<double> seconds);
std::string percent_text(std::optional<double> share);
std::string number_text(std::optional<double> number, int digits = 1);

}  // namespace anymps::lab::runbook::screen
