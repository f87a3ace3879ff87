// Completion scripts, made from the command tree: a new verb or option needs no line here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/help_formatter.h"
#include "cli/verbs.h"
#include "gpu/history/mac_profile.h"

namespace anymps::cli {
namespace {

struct OptionEntry {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  std::string value;  // "FILE", "DIR", "MAC", another word that says nothing of the shell's, or empty for a flag
};

struct VerbEntry {
  std::string path;  // "anymps cache"
  std::string name;
  std::string description;
  bool takes_files = false;  // beyond options: a command, or a FILE
  std::vector<OptionEntry> options;
  std::vector<VerbEntry> verbs;
};

VerbEntry entry_of(const CLI::App& app, const std::string& before) {
  VerbEntry entry;
  entry.path = before.empty() ? app.get_name() : before + " " + app.get_name();
  entry.name = app.get_name();
  entry.description = app.get_description();
  entry.takes_files = app.get_prefix_command();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) {
      entry.takes_files = entry.takes_files || options::value_name(*option) == "FILE";
      continue;
    }
    OptionEntry& added = entry.options.emplace_back();
    for (const std::string& name : option->get_snames()) added.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) added.names.push_back("--" + name);
    added.description = option->get_description();
    if (option->get_items_expected_min() > 0) added.value = options::value_name(*option);
  }
  for (const CLI::App* sub : app.get_subcommands({})) entry.verbs.push_back(entry_of(*sub, entry.path));
  return entry;
}

std::vector<const VerbEntry*> all_of(const VerbEntry& root) {
  std::vector<const VerbEntry*> all = {&root};
  for (const VerbEntry& verb : root.verbs) {
    for (const VerbEntry* inner : all_of(verb)) all.push_back(inner);
  }
  return all;
}

// Inside single quotes of any of the three shells.
std::string in_quotes(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string mac_names() {
  std::string names;
  for (const gpu::history::MacProfile& mac : gpu::history::all_macs())
    names += (names.empty() ? "" : " ") + std::string(mac.name);
  return names;
}

std::string bash_value(const std::string& value) {
  if (value == "DIR") return "compgen -d -- \"$current\"";
  if (value == "FILE") return "compgen -f -- \"$current\"";
  if (value == "MAC") return "compgen -W '" + mac_names() + "' -- \"$current\"";
  return "true";
}

std::string bash_script(const VerbEntry& root) {
  std::string verbs;
  std::string cases;
  for (const VerbEntry* verb : all_of(root)) {
    if (verb != &root) verbs += fmt::format("      '{0}') verb='{0}' ;;\n", verb->path);
    std::string words;
    std::string values;
    for (const VerbEntry& sub : verb->verbs) words += sub.name + " ";
    for (const OptionEntry& option : verb->options) {
      for (const std::string& name : option.names) words += name + " ";
      if (option.value.empty()) continue;
      values += fmt::format("        {}) mapfile -t COMPREPLY < <({}); return ;;\n", fmt::join(option.names, "|"),
                            bash_value(option.value));
    }
    cases += fmt::format("    '{}')\n", verb->path);
    if (!values.empty()) cases += fmt::format("      case \"$previous\" in\n{}      esac\n", values);
    if (verb->takes_files)
      cases += "      [[ $current != -* ]] && mapfile -t COMPREPLY < <(compgen -f -- \"$current\") && return\n";
    cases += fmt::format("      mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\") ;;\n", in_quotes(words));
  }
  return fmt::format(R"(_anymps() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb={0} i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb ${{COMP_WORDS[i]}}" in
{1}    esac
  done
  COMPREPLY=()
  case "$verb" in
{2}  esac
}}
complete -o filenames -F _anymps anymps
)",
                     root.path, verbs, cases);
}

std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') result += '\\';
    result += c;
  }
  return in_quotes(result);
}

std::string zsh_function(const VerbEntry& verb) {
  std::string name = "_" + verb.path;
  for (char& c : name) c = c == ' ' ? '_' : c;
  std::string body = fmt::format("{}() {{\n  local line state\n  _arguments -C", name);
  for (const OptionEntry& option : verb.options) {
    const std::string action = option.value == "FILE"  ? "_files"
                               : option.value == "DIR" ? "_files -/"
                               : option.value == "MAC" ? "(" + mac_names() + ")"
                                                       : " ";
    for (const std::string& one : option.names) {
      body += fmt::format(" \\\n    '{}[{}]{}'", one, zsh_text(option.description),
                          option.value.empty() ? "" : fmt::format(":{}:{}", option.value, action));
    }
  }
  if (!verb.verbs.empty()) body += " \\\n    '1:verb:->verb' '*::argument:->argument'";
  if (verb.takes_files) body += " \\\n    '*:file:_files'";
  body += "\n";
  if (!verb.verbs.empty()) {
    body += "  case $state in\n    verb)\n      local -a verbs=(\n";
    for (const VerbEntry& sub : verb.verbs)
      body += fmt::format("        '{}:{}'\n", sub.name, zsh_text(sub.description));
    body += "      )\n      _describe verb verbs ;;\n    argument)\n      case $line[1] in\n";
    for (const VerbEntry& sub : verb.verbs) body += fmt::format("        {}) {}_{} ;;\n", sub.name, name, sub.name);
    body += "      esac ;;\n  esac\n";
  }
  return body + "}\n";
}

std::string zsh_script(const VerbEntry& root) {
  std::string script = "#compdef anymps\n";
  for (const VerbEntry* verb : all_of(root)) script += zsh_function(*verb);
  return script + "compdef _anymps anymps\n";
}

// Fish asks a condition for each word it may offer: the verbs of the path are there, and none that would lead on.
std::string fish_condition(const VerbEntry& verb) {
  std::string condition;
  for (std::size_t at = verb.path.find(' '); at != std::string::npos;) {
    const std::size_t end = verb.path.find(' ', at + 1);
    condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                             verb.path.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  if (!verb.verbs.empty()) {
    condition += condition.empty() ? "" : "; and ";
    condition += "not __fish_seen_subcommand_from";
    for (const VerbEntry& sub : verb.verbs) condition += " " + sub.name;
  }
  return condition;
}

std::string fish_script(const VerbEntry& root) {
  std::string script = "complete -c anymps -f\n";
  for (const VerbEntry* verb : all_of(root)) {
    const std::string condition = in_quotes(fish_condition(*verb));
    for (const VerbEntry& sub : verb->verbs) {
      script +=
          fmt::format("complete -c anymps -n '{}' -a {} -d '{}'\n", condition, sub.name, in_quotes(sub.description));
    }
    for (const OptionEntry& option : verb->options) {
      script += fmt::format("complete -c anymps -n '{}'", condition);
      for (const std::string& name : option.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.value.empty()) script += option.value == "FILE" || option.value == "DIR" ? " -r -F" : " -x";
      if (option.value == "MAC") script += " -a '" + mac_names() + "'";
      script += fmt::format(" -d '{}'\n", in_quotes(option.description));
    }
    if (verb->takes_files) script += fmt::format("complete -c anymps -n '{}' -F\n", condition);
  }
  return script;
}

}  // namespace

void add_completion(CLI::App& app, options::Action& chosen) {
  CLI::App* verb = app.add_subcommand("completion", "Print a completion script for a shell");
  verb->require_subcommand(1);
  verb->footer(R"text(Examples:
  eval "$(anymps completion bash)"                                    in ~/.bashrc
  source <(anymps completion zsh)                                     in ~/.zshrc, after compinit
  anymps completion fish > ~/.config/fish/completions/anymps.fish
)text");
  const auto add_shell = [&](const char* shell, std::string (*script)(const VerbEntry&)) {
    verb->add_subcommand(shell, std::string("For ") + shell)->callback([&app, &chosen, script] {
      chosen = [&app, script](const auto&) {
        fmt::print("{}", script(entry_of(app, "")));
        return 0;
      };
    });
  };
  add_shell("bash", bash_script);
  add_shell("zsh", zsh_script);
  add_shell("fish", fish_script);
}

}  // namespace anymps::cli
