#include "cli/options/trial_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/options/runbook_options.h"
#include "lab/host/python.h"

namespace anymps::cli::options {

void TrialOptions::add_to(CLI::App& verb) {
  choice.add_mac(verb);
  choice.add_macos(verb);
  choice.add_as_torch(verb);
  verb.add_flag("--fallback", fallback, "Let operators that MPS lacks run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK=1)");
  verb.add_option("--hang-after", hang_after, "A script that records and computes nothing for so long hangs (60)")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--show-output", show_output, "Show the end of what the script printed");
}

lab::runbook::trial::TrialSettings TrialOptions::settings(const char* verb,
                                                          const std::vector<std::string>& command) const {
  if (command.empty()) {
    throw std::runtime_error(
        fmt::format("nothing to run; for example: anymps {0} -- python train.py (see anymps {0} --help)", verb));
  }
  const auto chosen = choice.resolve();
  if (!chosen) throw AlreadyTold();
  lab::runbook::trial::TrialSettings settings;
  settings.mac = chosen->mac;
  settings.macos = chosen->macos;
  settings.command = lab::host::with_python(command);
  choice.put_into(settings.environment);
  if (fallback) settings.environment["PYTORCH_ENABLE_MPS_FALLBACK"] = "1";
  settings.hang_seconds = hang_after;
  settings.show_output = show_output;
  return settings;
}

nlohmann::json TrialOptions::key() const {
  return {{"mac", choice.mac}, {"macos", choice.macos}, {"as_torch", choice.torch}, {"fallback", fallback}};
}

}  // namespace anymps::cli::options
