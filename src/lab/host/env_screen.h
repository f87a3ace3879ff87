// What `anymps env` shows, which is what a bug report needs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lab/machine.h"
#include "lab/terminal.h"

namespace anymps::lab {

struct EnvironmentFacts {
  std::string version;  // of anymps
  std::string executable;
  std::string cache;
  Machine machine;
  nlohmann::json python;  // what ask_python answered
  std::vector<std::pair<std::string, std::string>> variables;
};

std::string env_screen(const EnvironmentFacts& facts, const Terminal& terminal);
nlohmann::json to_json(const EnvironmentFacts& facts);

}  // namespace anymps::lab
