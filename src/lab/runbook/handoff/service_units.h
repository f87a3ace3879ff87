// A command with its environment as the system's own services have it, for systemd and for launchd, so that operations
// can compare them like code.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace anymps::lab::runbook::handoff {

struct GoldenCommand {
  std::vector<std::string> words;  // the first one is an absolute path
  std::string folder;              // to start it in
  std::map<std::string, std::string> variables;
  std::string owner;
  std::string label;  // of the service, such as "train"
};

std::string systemd_unit(const GoldenCommand& command);
std::string launchd_plist(const GoldenCommand& command);

}  // namespace anymps::lab::runbook::handoff
