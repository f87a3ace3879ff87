#include "lab/runbook/profile/profile.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/options/runbook_options.h"
#include "cli/options/trial_options.h"
#include "cli/verbs.h"

namespace anymps::cli {
namespace {

struct ProfileOptions {
  lab::runbook::trial::SessionOptions session;
  options::TrialOptions trial;
  lab::runbook::profile::ProfileSettings profile;
  std::vector<std::string> stages;
  std::uint64_t bisect = 0;
};

// "decode=read_png,read_jpeg".
void add_stage(const std::string& text, lab::runbook::profile::ProfileSettings& profile) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw std::runtime_error("--stage: `" + text + "` is not STAGE=FUNCTION,...");
  auto& names = profile.stage_names[text.substr(0, equals)];
  for (const std::string& name : CLI::detail::split(text.substr(equals + 1), ',')) names.push_back(name);
}

int profile(ProfileOptions options, const std::vector<std::string>& command) {
  for (const std::string& stage : options.stages) add_stage(stage, options.profile);
  if (options.bisect > 0) options.profile.bisect_workers = options.bisect;
  const lab::runbook::trial::TrialSettings settings = options.trial.settings("profile", command);
  lab::runbook::trial::Session session("profile", options.session, settings.command,
                                       {{"trial", options.trial.key()}, {"profile", options.profile.key()}});
  const lab::runbook::profile::ProfileResult result =
      lab::runbook::profile::run_profile(session, settings, options.profile, 0, 1);
  return options::conclude(options.session,
                           session.finish(result.verdict, lab::runbook::document::to_json(result.profile)));
}

}  // namespace

void add_profile(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* verb =
      app.add_subcommand("profile", "Where the time of a step goes: input, host, device, waiting, fallback");
  verb->prefix_command();
  options::add_session_options(*verb, options->session);
  options->trial.add_to(*verb);
  lab::runbook::profile::ProfileSettings& settings = options->profile;
  verb->add_option("--steps", settings.steps, "Steps of the window (50)")->check(CLI::PositiveNumber)->type_name("N");
  verb->add_option("--warm-up", settings.warm_up, "Steps before it (5)")->check(CLI::PositiveNumber)->type_name("N");
  verb->add_option("--seconds", settings.seconds, "Cut a window short after so long (120)")->type_name("S");
  verb->add_option("--input-limit", settings.input_limit, "Share of a step that input may take (0.3)");
  verb->add_option("--fallback-limit", settings.fallback_limit, "Share that operators on the CPU may take (0.1)");
  verb->add_option("--waits-limit", settings.waits_limit, "Waits for the device that a step may have (0.5)");
  verb->add_option("--stage", options->stages, "Your functions for a stage of loading: decode=read_png (repeatable)")
      ->type_name("STAGE=FUNCTIONS")
      ->expected(1)
      ->take_all();
  verb->add_option("--bisect-workers", options->bisect,
                   "Load with no worker, then one, and so on up to N: time, descriptors and memory of each")
      ->type_name("N");
  verb->footer(
      R"(The script runs several times for a short window after its warm-up: as it is; with every operator traced; loading batches
and nothing else; and calling its model on one fixed batch and nothing else. Input is told apart as storage, decode, augment
and collate, by the functions that are called: --stage names yours.
Status: 0 nothing stands out, 1 input, waits, fallbacks or workers hold it back, 2 it could not be found out.

Examples:
  anymps profile -- python train.py
  anymps profile --steps 20 --warm-up 3 -- python train.py --workers 2
  anymps profile --bisect-workers 4 -- python train.py
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) {
      return options::guarded([&] { return profile(*options, command); });
    };
  });
}

}  // namespace anymps::cli
