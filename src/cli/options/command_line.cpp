#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "gpu/support/edit_distance.h"

namespace anymps::cli::options {
namespace {

// The verb that the leading words name, and how many of them they are.
std::pair<const CLI::App*, std::size_t> named_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto next = verb->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == words[i]; });
    if (next.empty()) return {verb, i};
    verb = next.front();
  }
  return {verb, words.size()};
}

bool takes_next_word(const CLI::App& verb, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const CLI::Option* option = verb.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() > 0;
}

// "; the nearest is --mac", where one is near enough to be meant.
std::string nearest_option(const CLI::App& verb, const std::string& given) {
  const std::string name = given.substr(0, given.find('='));
  std::string nearest;
  std::size_t fewest = name.size() / 2 + 1;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& known : option->get_lnames()) {
      const std::size_t edits = gpu::support::edits_between(name, "--" + known);
      if (edits >= fewest) continue;
      fewest = edits;
      nearest = "--" + known;
    }
  }
  return nearest.empty() ? "" : "; the nearest is " + nearest;
}

}  // namespace

std::string unknown_option(const CLI::App& app, const std::vector<std::string>& words, const std::string& given) {
  return "unknown option " + given + nearest_option(*named_verb(app, words).first, given);
}

CommandLine cut_command(const CLI::App& app, const std::vector<std::string>& words) {
  const auto [verb, depth] = named_verb(app, words);
  if (!verb->get_prefix_command()) return {words, {}};
  std::size_t end = depth;
  while (end < words.size()) {
    const std::string& word = words[end];
    if (word == "--" || word == "-m" || !word.starts_with('-')) break;
    end += takes_next_word(*verb, word) ? 2 : 1;
  }
  end = std::min(end, words.size());
  const std::size_t begin = end < words.size() && words[end] == "--" ? end + 1 : end;
  const auto at = [&words](std::size_t i) { return words.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{words.begin(), at(end)}, {at(begin), words.end()}};
}

std::optional<std::string> missing_script(const std::vector<std::string>& command) {
  const bool names_python = !command.empty() && (command[0] == "python" || command[0] == "python3");
  const std::size_t place = names_python ? 1 : 0;
  if (place >= command.size()) return std::nullopt;
  const std::string& script = command[place];
  const bool is_script = script.ends_with(".py") || script.ends_with(".ipynb");
  std::error_code error;
  if (!is_script || std::filesystem::exists(script, error)) return std::nullopt;
  return "there is no file " + script;
}

std::optional<std::string> unknown_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const auto [verb, depth] = named_verb(app, words);
  const auto choices = verb->get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
  if (choices.empty() || (depth == words.size() && verb->get_require_subcommand_min() == 0)) return std::nullopt;
  std::string before = "anymps";
  for (std::size_t i = 0; i < depth; ++i) before += " " + words[i];
  if (depth == words.size()) {
    std::string names;
    for (const CLI::App* choice : choices) names += (names.empty() ? "" : ", ") + choice->get_name();
    return "`" + before + "` needs one of: " + names;
  }
  const std::string& given = words[depth];
  if (given.starts_with('-')) {
    if (verb->get_option_no_throw(given) != nullptr) return std::nullopt;
    return "`" + before + "` has no option " + given + nearest_option(*verb, given) + " (see " + before + " --help)";
  }
  if (depth == 0 && given.ends_with(".py")) return "to run a script: anymps run " + given;
  const auto nearest = std::ranges::min_element(
      choices, {}, [&given](const CLI::App* choice) { return gpu::support::edits_between(given, choice->get_name()); });
  return "`" + before + "` has no `" + given + "`; the nearest is `" + (*nearest)->get_name() + "` (see " + before +
         " --help)";
}

}  // namespace anymps::cli::options
