#include "lab/runbook/plateau/plateau.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options/runbook_options.h"
#include "cli/options/trial_options.h"
#include "cli/verbs.h"
#include "lab/runbook/plateau/measure.h"

namespace anymps::cli {
namespace {

struct PlateauOptions {
  lab::runbook::trial::SessionOptions session;
  options::TrialOptions trial;
  lab::runbook::plateau::PlateauSettings plateau;
};

int plateau(const PlateauOptions& options, const std::vector<std::string>& command) {
  const lab::runbook::trial::TrialSettings settings = options.trial.settings("plateau", command);
  lab::runbook::trial::Session session("plateau", options.session, settings.command,
                                       {{"trial", options.trial.key()}, {"plateau", options.plateau.key()}});
  const lab::runbook::plateau::PlateauDocument measured =
      lab::runbook::plateau::run_plateau(session, settings, options.plateau, 0, 1);
  return options::conclude(options.session,
                           session.finish(measured.measured.verdict(), lab::runbook::document::to_json(measured)));
}

}  // namespace

void add_plateau(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<PlateauOptions>();
  CLI::App* verb = app.add_subcommand("plateau", "Run ten epochs with a flush after each: does memory keep growing?");
  verb->prefix_command();
  options::add_session_options(*verb, options->session);
  options->trial.add_to(*verb);
  lab::runbook::plateau::PlateauSettings& plateau_settings = options->plateau;
  verb->add_option("--epochs", plateau_settings.epochs, "How many (10); the script must not end before")
      ->type_name("N");
  verb->add_option("--epoch-steps", plateau_settings.epoch_steps, "Take so many steps for an epoch")->type_name("N");
  verb->add_option("--threshold", plateau_settings.threshold, "The rise over all epochs that is too much (0.26)");
  verb->add_flag_callback(
      "--no-sites", [options] { options->plateau.sites = false; }, "Do not run again to find which lines keep tensors");
  verb->footer(
      R"(An epoch ends where the script's DataLoader does, where it calls anymps.epoch(), or after --epoch-steps. At its end the
garbage is collected, torch.mps.empty_cache() is called, and what is left is measured. Where that grows too much, the script
runs again for some epochs, and the lines whose tensors stay are named. COMMAND may be a notebook.
Status: 0 it is a plateau, 1 it is not, 2 it could not be found out.

Examples:
  anymps plateau -- python train.py --epochs 10
  anymps plateau --epoch-steps 100 -- python train.py
  anymps plateau --epochs 5 --threshold 0.1 -- study.ipynb
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) {
      return options::guarded([&] { return plateau(*options, command); });
    };
  });
}

}  // namespace anymps::cli
