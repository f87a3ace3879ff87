// How --help writes options: in words for the reader, without the parser's names for types and checks.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

namespace anymps::cli::options {

// What stands for the option's value. The parser appends the names of checks, behind a colon: those are its own.
inline std::string value_name(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const std::string own = name.substr(0, name.find(':'));
  if (own == "INT" || own == "UINT") return "N";
  return own == "FLOAT" ? "NUMBER" : own;
}

class HelpFormatter : public CLI::Formatter {
 public:
  // Says in the usage line that a verb takes a command, which the option parser does not know.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (app->get_prefix_command()) usage.insert(usage.find_last_not_of('\n') + 1, " [--] COMMAND...");
    return usage;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string text;
    const std::string value = value_name(*option);
    const bool says_more = option->nonpositional() || (value != option->get_name() && value != "TEXT");
    if (says_more) text += " " + value;
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    for (const CLI::Option* other : option->get_needs()) text += fmt::format(" (with {})", other->get_name());
    return option->get_required() ? text + " (required)" : text;
  }
};

}  // namespace anymps::cli::options
