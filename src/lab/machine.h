// What a bug report needs to know about this machine and the Python in use.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace anymps::lab {

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

// The environment variables that change what anymps, or torch under it, does; those that are set.
std::vector<std::pair<std::string, std::string>> telling_variables();

// Asks Python, in one child, what it, torch and anymps say of themselves. `error` is set where it cannot be asked.
nlohmann::json ask_python(const std::string& python);

}  // namespace anymps::lab
