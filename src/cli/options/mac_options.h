// --mac, --macos, --as-torch and --platform, for the verbs that run a command on a Mac of the user's choice.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "gpu/history/mac_profile.h"

namespace CLI {
class App;
}

namespace anymps::cli::options {

struct MacChoice {
  std::string mac;
  std::string macos;
  std::string torch;
  std::string platform;

  void add_mac(CLI::App& verb);
  void add_macos(CLI::App& verb);
  void add_as_torch(CLI::App& verb);
  void add_platform(CLI::App& verb);

  // What was chosen here, else in the environment. Nothing after one line about a name or a version that does not
  // exist: the verb ends with kUsageError, before it starts anything.
  std::optional<gpu::history::ChosenMac> resolve() const;

  void put_into(std::map<std::string, std::string>& environment) const;
};

}  // namespace anymps::cli::options
