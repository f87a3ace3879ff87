// What a bug report needs to know about this machine and the Python in use.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/host/child.h"

namespace anymps::lab::host {

struct Machine {
  std::string system;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;
  std::string architecture;
  std::string cpu;
  unsigned cores = 0;          // of the machine
  unsigned cores_allowed = 0;  // to this process
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> cgroup_limit_bytes;

  static Machine here();
};

nlohmann::json to_json(const Machine& machine);

// The environment variables that change what anymps, or torch under it, does; those that are set.
std::vector<std::pair<std::string, std::string>> telling_variables();

// Asks Python, in one child, what it, torch and anymps say of themselves. `python` is the interpreter, or what starts
// it. `further` is Python, too: it may add to the dictionary `facts`, and finds `torch` in sys.modules where it could
// be imported. `error` is set where there is no answer, `not_started` beside it where there is no such interpreter.
nlohmann::json ask_python(const ChildCommand& python, std::string_view further = {});

}  // namespace anymps::lab::host
