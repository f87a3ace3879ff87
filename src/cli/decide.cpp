#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/runbook_options.h"
#include "cli/options/trial_options.h"
#include "cli/verbs.h"
#include "lab/host/python.h"
#include "lab/runbook/decide/measure.h"
#include "lab/runbook/decide/stop_rule.h"
#include "lab/runbook/logbook/logbook.h"

namespace anymps::cli {
namespace {

constexpr std::int64_t kProfilesSearched = 200;

struct DecideOptions {
  lab::runbook::trial::SessionOptions session;
  options::TrialOptions trial;
  lab::runbook::decide::DecideRun run;
  std::string mlx;
  bool stop_rule = false;
};

std::vector<lab::runbook::decide::RejectedHypothesis> rejected_hypotheses(lab::runbook::logbook::Logbook& logbook) {
  std::vector<lab::runbook::decide::RejectedHypothesis> rows;
  for (const lab::runbook::logbook::LoggedNote& note : logbook.notes("rejected")) {
    rows.push_back({.text = note.text, .why = note.why, .at = note.at});
  }
  return rows;
}

// The finished profiles of this command, newest first.
std::vector<lab::runbook::logbook::LoggedRun> profiles_of(lab::runbook::logbook::Logbook& logbook,
                                                          const std::vector<std::string>& command) {
  std::vector<lab::runbook::logbook::LoggedRun> profiles;
  for (lab::runbook::logbook::LoggedRun& run : logbook.runs("profile", kProfilesSearched)) {
    if (run.state == lab::runbook::logbook::RunState::kDone && run.command == command)
      profiles.push_back(std::move(run));
  }
  return profiles;
}

lab::runbook::decide::Decision decision_of(const std::optional<lab::runbook::decide::StopRule>& rule,
                                           std::size_t profiles) {
  using lab::runbook::decide::Choice;
  if (rule) {
    return {.outcome = Choice::kStopTuning,
            .why = rule->why,
            .options = {"rewrite those layers", "run them on the CPU deliberately", "another framework (MLX)",
                        "hardware whose contract you trust"}};
  }
  return {.outcome = Choice::kGoOn,
          .why = profiles < 2 ? "the logbook has fewer than two profiles of this command"
                              : "no two profiles, a week apart, disagree by the same three operators",
          .options = {}};
}

int only_stop_rule(const DecideOptions& options, lab::runbook::trial::Session& session) {
  const std::vector<lab::runbook::logbook::LoggedRun> profiles = profiles_of(session.logbook(), session.command());
  const auto rule = lab::runbook::decide::stop_rule(profiles, options.run.thresholds);
  lab::runbook::decide::DecideDocument document;
  document.decision = decision_of(rule, profiles.size());
  document.stop = {.rule = rule};
  document.rejected = rejected_hypotheses(session.logbook());
  const auto verdict = rule ? lab::runbook::document::Verdict::kBad : lab::runbook::document::Verdict::kGood;
  return options::conclude(options.session, session.finish(verdict, lab::runbook::document::to_json(document)));
}

int decide(DecideOptions options, const std::vector<std::string>& command) {
  const lab::runbook::trial::TrialSettings settings = options.trial.settings("decide", command);
  options.run.mlx = lab::host::with_python(lab::host::split_words(options.mlx));
  const lab::runbook::decide::DecideRun& run = options.run;
  lab::runbook::trial::Session session("decide", options.session, settings.command,
                                       {{"trial", options.trial.key()},
                                        {"device", run.device.name},
                                        {"thresholds", run.thresholds.key()},
                                        {"profile", run.profile.key()},
                                        {"plateau", run.plateau.key()},
                                        {"mlx", run.mlx},
                                        {"stop_rule", options.stop_rule}});
  if (options.stop_rule) return only_stop_rule(options, session);
  lab::runbook::decide::DecideResult result = lab::runbook::decide::run_decide(session, settings, run);
  result.document.rejected = rejected_hypotheses(session.logbook());
  return options::conclude(options.session,
                           session.finish(result.verdict, lab::runbook::document::to_json(result.document)));
}

}  // namespace

void add_decide(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<DecideOptions>();
  options->run.device.name = "--device";
  CLI::App* verb =
      app.add_subcommand("decide", "CPU, MPS, MLX or remote: measure, apply the thresholds, give the evidence");
  verb->prefix_command();
  options::add_session_options(*verb, options->session);
  options->trial.add_to(*verb);
  lab::runbook::decide::DecideRun& run = options->run;
  verb->add_option("--device-arg", run.device.name, "The command's option for the device, or a variable (--device)")
      ->type_name("OPTION");
  verb->add_option("--steps", run.profile.steps, "Steps of a window (50)")->type_name("N");
  verb->add_option("--warm-up", run.profile.warm_up, "Steps before it (5)")->type_name("N");
  verb->add_option("--epochs", run.plateau.epochs, "Epochs of the memory test (10)")->type_name("N");
  verb->add_option("--epoch-steps", run.plateau.epoch_steps, "Take so many steps for an epoch")->type_name("N");
  verb->add_option("--drift-steps", run.drift_steps, "Steps after which losses are compared (20)")->type_name("N");
  verb->add_option("--least-gain", run.thresholds.least_gain, "Less time than on the CPU, at least (0.22)");
  verb->add_option("--least-utilisation", run.thresholds.least_utilisation, "Share that the device is busy (0.18)");
  verb->add_option("--memory-rise", run.thresholds.memory_rise, "Rise over the epochs that is allowed (0.26)");
  verb->add_option("--drift", run.thresholds.drift, "Relative difference of losses that is tolerated (0.01)");
  verb->add_option("--mlx", options->mlx, "A command that does the same in MLX and prints step_seconds=NUMBER")
      ->type_name("COMMAND");
  verb->add_flag("--stop-rule", options->stop_rule,
                 "Run nothing: do two profiles in the logbook, a week apart, disagree by the same three operators?");
  verb->add_option("--days", run.thresholds.week, "... so many days apart (7)")->type_name("N");
  verb->footer(
      R"(Runs the script on the CPU and on mps for a window, for some epochs, and with one seed on both. All six symptoms of the
runbook are shown, with what applies. Where mps is simulated its speed never decides; a Mac must be asked.
Status: 0 stay on mps (or, with --stop-rule, go on), 1 do something else, 2 it could not be found out.

Examples:
  anymps decide -- python train.py
  anymps decide --device-arg DEVICE --least-gain 0.3 -- python train.py
  anymps decide --mlx "train_mlx.py" -- python train.py
  anymps decide --stop-rule -- python train.py
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) {
      return options::guarded([&] { return decide(*options, command); });
    };
  });
}

}  // namespace anymps::cli
