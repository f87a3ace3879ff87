#include "lab/runbook/trial/device_switch.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace anymps::lab::runbook::trial {
namespace {

constexpr const char* kUsual = "--device";

// Where it cannot be read, the script itself will say so.
bool speaks_of(const std::string& script, const char* option) {
  std::ifstream file(script);
  std::ostringstream source;
  source << file.rdbuf();
  return !file || source.str().find(option) != std::string::npos;
}

}  // namespace

CommandSetting device_switch(const std::vector<std::string>& command, const std::string& argument,
                             const std::string& environment) {
  if (!argument.empty() && !environment.empty()) {
    throw std::invalid_argument("--device-arg and --device-env: name one of them");
  }
  if (!environment.empty()) return {environment};
  if (!argument.empty()) return {argument};
  const CommandSetting usual{kUsual};
  const auto script = std::ranges::find_if(command, [](const std::string& word) { return word.ends_with(".py"); });
  if (!usual.value_in(command) && script != command.end() && !speaks_of(*script, kUsual)) {
    throw std::invalid_argument(*script +
                                " has no option --device; name its option with --device-arg, or an environment "
                                "variable that it reads with --device-env");
  }
  return usual;
}

}  // namespace anymps::lab::runbook::trial
