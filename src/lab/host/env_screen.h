// What `anymps env` shows, which is what a bug report needs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lab/base/terminal.h"
#include "lab/host/machine.h"

namespace anymps::lab::host {

struct EnvironmentFacts {
  std::string version;  // of anymps
  std::string executable;
  std::string cache;
  Machine machine;
  nlohmann::json python;  // what ask_python answered
  std::vector<std::pair<std::string, std::string>> variables;
};

std::string env_screen(const EnvironmentFacts& facts, const base::Terminal& terminal);
nlohmann::json to_json(const EnvironmentFacts& facts);

}  // namespace anymps::lab::host
