// The options of commands that run the user's script under the recorder.
#pragma once

#include <string>
#include <vector>

#include "cli/options/mac_options.h"
#include "lab/runbook/trial/trial.h"

namespace CLI {
class App;
}

namespace anymps::cli::options {

struct TrialOptions {
  MacChoice choice;
  bool fallback = false;
  bool show_output = false;
  double hang_after = 60;

  void add_to(CLI::App& verb);
  // Throws std::runtime_error where there is no command, and AlreadyTold where there is no such Mac.
  lab::runbook::trial::TrialSettings settings(const char* verb, const std::vector<std::string>& command) const;
  // What distinguishes two calls of the same command.
  nlohmann::json key() const;
};

}  // namespace anymps::cli::options
