#include "lab/runbook/parity/parity.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "cli/options/runbook_options.h"
#include "cli/options/traced_run.h"
#include "cli/options/trial_options.h"
#include "cli/verbs.h"
#include "lab/runbook/trial/device_switch.h"

namespace anymps::cli {
namespace {

struct ParityArguments {
  lab::runbook::trial::SessionOptions session;
  lab::runbook::parity::ParityOptions parity;
  options::TrialOptions trial;
  std::string device_argument;
  std::string device_environment;
};

int parity(ParityArguments arguments, const std::vector<std::string>& command) {
  lab::runbook::parity::ParityOptions& options = arguments.parity;
  options.trial = arguments.trial.settings("parity", command);
  if (!options.devices.empty() && std::set(options.devices.begin(), options.devices.end()).size() < 2) {
    throw std::invalid_argument("--devices: name two or more, such as cpu,mps");
  }
  if (options.update && options.table.empty()) throw std::invalid_argument("--update: name the file with --table");
  if (options.update && !options::can_write("--table", options.table)) return options::kUsageError;
  options.device = lab::runbook::trial::device_switch(options.trial.command, arguments.device_argument,
                                                      arguments.device_environment);
  if (options.genuine.empty()) {
    const char* folder = std::getenv("ANYMPS_GENUINE_KERNELS");
    if (folder != nullptr) options.genuine = folder;
  }
  lab::runbook::trial::Session session("parity", arguments.session, options.trial.command,
                                       lab::runbook::parity::to_json(options));
  return options::conclude(arguments.session, lab::runbook::parity::parity(session, options));
}

void add_options(CLI::App& verb, ParityArguments& arguments) {
  lab::runbook::parity::ParityOptions& options = arguments.parity;
  verb.add_option("--devices", options.devices,
                  "The devices, the reference first (default: cpu,mps, and cuda where there is one)")
      ->delimiter(',')
      ->type_name("LIST");
  verb.add_option("--device-arg", arguments.device_argument, "The command's option for the device (default: --device)")
      ->type_name("OPTION");
  verb.add_option("--device-env", arguments.device_environment, "... or the environment variable that it reads")
      ->type_name("NAME");
  verb.add_option("--seed", options.seed, "Of all generators, before the script begins")->capture_default_str();
  verb.add_option("--steps", options.steps, "Steps on each device (default: 20; with --metric: all)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  verb.add_flag("--no-dropout", options.no_dropout, "Leave dropout out: devices draw other masks from the same seed");
  verb.add_option("--max-relative", options.limits.max_relative,
                  "How far a layer or gradient may be apart, as a share of its largest element")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--drift", options.limits.drift, "How far the loss may be apart at the last step, relative")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option* metric =
      verb.add_option("--metric", options.metric, "The name of a number that the script prints: its last value counts")
          ->type_name("NAME");
  verb.add_option("--tolerance", options.tolerance, "How far that number may be apart, in its own unit")
      ->check(CLI::NonNegativeNumber)
      ->needs(metric)
      ->capture_default_str();
  verb.add_option("--table", options.table, "Hold the differences against those reviewed in this file")
      ->type_name("FILE");
  verb.add_flag("--update", options.update, "Write that file, for review, instead");
  verb.add_option("--slack", options.slack, "How many times the reviewed difference is no change yet")
      ->check(CLI::Range(1.0, 1e9))
      ->type_name("TIMES")
      ->capture_default_str();
  verb.add_option("--genuine", options.genuine,
                  "A folder with PyTorch's macOS Metal library: run Apple's kernels, too (default: "
                  "$ANYMPS_GENUINE_KERNELS)")
      ->type_name("FOLDER");
}

}  // namespace

void add_parity(CLI::App& app, options::Action& chosen) {
  auto arguments = std::make_shared<ParityArguments>();
  CLI::App* verb = app.add_subcommand("parity", "Does a script compute the same on cpu, mps and cuda?");
  verb->prefix_command();
  options::add_session_options(*verb, arguments->session);
  arguments->trial.add_to(*verb);
  add_options(*verb, *arguments);
  verb->footer(R"(COMMAND is as for anymps run. It runs once a device, with the same seed, unchanged but for the device.

Status 0: all ran, and nothing is apart beyond the limits; 1: something is, or a device did not run; 2: the reference
itself did not run. The mps device of anymps runs the CPU's kernels: what it agrees on, a Mac need not.

Examples:
  anymps parity --no-dropout -- python train.py --batch-size 8
  anymps parity --device-env DEVICE --devices cpu,mps train.py
  anymps parity --no-dropout --table parity.tsv --update train.py
  anymps parity --metric accuracy --tolerance 0.5 train.py --epochs 1
)");
  verb->callback([arguments, &chosen] {
    chosen = [arguments](const std::vector<std::string>& command) {
      return options::guarded([&] { return parity(*arguments, command); });
    };
  });
}

}  // namespace anymps::cli
