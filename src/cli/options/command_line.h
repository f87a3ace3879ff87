// The parts of the command line that the option parser has no notion of: where COMMAND begins, and what a mistyped verb
// was meant to be.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace anymps::cli::options {

struct CommandLine {
  std::vector<std::string> own;      // for the option parser
  std::vector<std::string> command;  // for the child, untouched
};

// COMMAND begins after `--`, or at the first word that is neither an option nor the value of one. Only a verb that
// takes a command (prefix_command) has one.
CommandLine cut_command(const CLI::App& app, const std::vector<std::string>& words);

// One line about a script or notebook that the command names first and that is not there.
std::optional<std::string> missing_script(const std::vector<std::string>& command);

// One line about a verb that is missing or does not exist, with the nearest that does; nothing when all is in order.
std::optional<std::string> unknown_verb(const CLI::App& app, const std::vector<std::string>& words);

// What is wrong with an option that the verb of these words does not have, and which it has that looks like it.
std::string unknown_option(const CLI::App& app, const std::vector<std::string>& words, const std::string& given);

}  // namespace anymps::cli::options
