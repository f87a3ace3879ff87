#include "lab/runbook/trial/command_setting.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace anymps::lab::runbook::trial {
namespace {

constexpr const char* kOn = "on";
constexpr const char* kOff = "off";

}  // namespace

std::optional<std::string> CommandSetting::value_in(const std::vector<std::string>& words) const {
  if (const auto place = place_in(words)) return words[place->word].substr(place->before);
  const char* value = is_variable() ? std::getenv(name.c_str()) : nullptr;
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

void CommandSetting::apply(const std::string& value, std::vector<std::string>& words,
                           std::map<std::string, std::string>& environment) const {
  if (!is_variable() && (value == kOn || value == kOff)) {
    std::erase(words, name);
    if (value == kOn) words.push_back(name);
  } else if (const auto place = place_in(words)) {
    words[place->word].replace(place->before, std::string::npos, value);
  } else if (is_variable()) {
    environment[name] = value;
  } else {
    words.push_back(name);
    words.push_back(value);
  }
}

std::optional<CommandSetting::Place> CommandSetting::place_in(const std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name && i + 1 < words.size()) return Place{i + 1, 0};
    if (words[i].starts_with(name + "=")) return Place{i, name.size() + 1};
  }
  return std::nullopt;
}

CommandAxis CommandAxis::parse(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || colon == std::string::npos || equals == 0 || colon == equals + 1) {
    throw std::invalid_argument("`" + text + "` is no axis, such as workers=--workers:0,2,4");
  }
  CommandAxis axis{text.substr(0, equals), {text.substr(equals + 1, colon - equals - 1)}, {}};
  std::istringstream values(text.substr(colon + 1));
  for (std::string value; std::getline(values, value, ',');) {
    if (!value.empty()) axis.values.push_back(value);
  }
  if (axis.values.empty()) throw std::invalid_argument("`" + text + "` names no values");
  return axis;
}

}  // namespace anymps::lab::runbook::trial
