// A setting of the user's command that the lab varies: an option of its command line, or an environment variable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace anymps::lab::runbook::trial {

struct CommandSetting {
  // "--batch-size"; without a dash in front, a word such as batch_size=64 of the command or, where it has none, a
  // variable of the environment.
  std::string name;

  // What the command says of it; nothing where it does not.
  std::optional<std::string> value_in(const std::vector<std::string>& words) const;

  // Gives it that value: in its place, or at the end of the command. "on" and "off" are for options without a value.
  void apply(const std::string& value, std::vector<std::string>& words,
             std::map<std::string, std::string>& environment) const;

 private:
  struct Place {
    std::size_t word;
    std::size_t before;  // characters of the word in front of the value
  };
  std::optional<Place> place_in(const std::vector<std::string>& words) const;
  bool is_variable() const { return !name.starts_with('-'); }
};

// Several values to try: "workers=--workers:0,2,4".
struct CommandAxis {
  std::string title;
  CommandSetting setting;
  std::vector<std::string> values;

  // Throws std::invalid_argument with what is wrong with it.
  static CommandAxis parse(const std::string& text);
};

}  // namespace anymps::lab::runbook::trial
