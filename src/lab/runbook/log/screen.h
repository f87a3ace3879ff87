// The documents of `anymps log` for people.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/log/document.h"

namespace anymps::lab::runbook::log {

// A line a run.
std::string log_list_screen(const ListDocument& document, const base::Terminal& terminal);
// Every field.
std::string log_show_screen(const ShowDocument& document, const base::Terminal& terminal);
std::string log_diff_screen(const DiffDocument& document, const base::Terminal& terminal);
std::string log_notes_screen(const NotesDocument& document, const base::Terminal& terminal);
std::string log_readme_screen(const ReadmeDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::log
