#include "lab/runbook/command_setting.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace anymps::lab {
namespace {

constexpr const char* kOn = "on";
constexpr const char* kOff = "off";

}  // namespace

std::optional<std::string> CommandSetting::value_in(const std::vector<std::string>& words) const {
  if (is_variable()) {
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(name + "=")) return words[i].substr(name.size() + 1);
  }
  return std::nullopt;
}

void CommandSetting::apply(const std::string& value, std::vector<std::string>& words,
                           std::map<std::string, std::string>& environment) const {
  if (is_variable()) {
    environment[name] = value;
    return;
  }
  if (value == kOn || value == kOff) {
    std::erase(words, name);
    if (value == kOn) words.push_back(name);
    return;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name && i + 1 < words.size()) {
      words[i + 1] = value;
      return;
    }
    if (words[i].starts_with(name + "=")) {
      words[i] = name + "=" + value;
      return;
    }
  }
  words.push_back(name);
  words.push_back(value);
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

}  // namespace anymps::lab
