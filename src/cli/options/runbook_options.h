// What the commands of the runbook share: their options, how they end, and where their document goes.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/trial/session.h"

namespace CLI {
class App;
}

namespace anymps::cli::options {

// --json, --logbook, --fresh, --quiet, and the circumstances that the user names.
void add_session_options(CLI::App& verb, lab::runbook::trial::SessionOptions& options);
// Of them --json and --logbook alone, for commands that run nothing.
void add_reading_options(CLI::App& verb, lab::runbook::trial::SessionOptions& options);

using Screen = std::function<std::string(const nlohmann::json& document, const lab::base::Terminal& terminal)>;

// Prints the document, or the screen that is drawn of it; the status is the document's.
int conclude(const lab::runbook::trial::SessionOptions& options, const nlohmann::json& document, const Screen& screen);

// The same of a command of the runbook, whose screen lab/runbook/verbs/verbs.h knows.
int conclude(const lab::runbook::trial::SessionOptions& options, const nlohmann::json& document);

// What keeps a command from running, where a line about it was said already.
struct AlreadyTold {};

// Runs a command: an interruption and whatever keeps it from running end with one line and status 2.
int guarded(const std::function<int()>& command);

}  // namespace anymps::cli::options
