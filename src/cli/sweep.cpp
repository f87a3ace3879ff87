#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/options/runbook_options.h"
#include "cli/options/trial_options.h"
#include "cli/verbs.h"
#include "lab/runbook/sweep/measure.h"

namespace anymps::cli {
namespace {

using nlohmann::json;

struct SweepOptions {
  lab::runbook::trial::SessionOptions session;
  options::TrialOptions trial;
  lab::runbook::sweep::SweepSettings sweep;
  std::string batch;
  std::vector<std::string> axes;
};

json key_of(const SweepOptions& options) {
  const lab::runbook::sweep::SweepSettings& sweep = options.sweep;
  return {{"trial", options.trial.key()},
          {"batch", options.batch},
          {"axes", options.axes},
          {"sweep",
           {sweep.from, sweep.to, sweep.warm_up, sweep.steps, sweep.verify_steps, sweep.point_seconds, sweep.margin,
            sweep.knee}}};
}

int run_verb(const SweepOptions& options, const std::vector<std::string>& command) {
  const lab::runbook::trial::TrialSettings settings = options.trial.settings("sweep", command);
  lab::runbook::trial::Session session("sweep", options.session, settings.command, key_of(options));
  const lab::runbook::sweep::SweepResult result = lab::runbook::sweep::measure_sweep(
      session, {.trial = settings, .sweep = options.sweep, .batch = options.batch, .axes = options.axes});
  return options::conclude(options.session,
                           session.finish(result.verdict, lab::runbook::document::to_json(result.document)));
}

}  // namespace

void add_sweep(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* verb = app.add_subcommand("sweep", "Double the batch until memory ends; find the knee, recommend a batch");
  verb->prefix_command();
  options::add_session_options(*verb, options->session);
  options->trial.add_to(*verb);
  lab::runbook::sweep::SweepSettings& sweep = options->sweep;
  verb->add_option("--batch-arg", options->batch, "The command's option for the batch size, or a variable")
      ->type_name("OPTION")
      ->required();
  verb->add_option("--from", sweep.from, "The first batch size (1)")->check(CLI::PositiveNumber)->type_name("N");
  verb->add_option("--to", sweep.to, "The last one to try (4096)")->check(CLI::PositiveNumber)->type_name("N");
  verb->add_option("--steps", sweep.steps, "Steps that are timed at each size (20)")->type_name("N");
  verb->add_option("--warm-up", sweep.warm_up, "Steps before them (3)")->type_name("N");
  verb->add_option("--verify-steps", sweep.verify_steps, "Steps before a size is recommended (60)")->type_name("N");
  verb->add_option("--point-seconds", sweep.point_seconds, "Cut a window short after so long (60)")->type_name("S");
  verb->add_option("--margin", sweep.margin, "Share of the memory limit to leave free (0.15)")
      ->check(CLI::Range(0., 0.9));
  verb->add_option("--knee", sweep.knee, "Share of the best throughput that the knee has (0.9)")
      ->check(CLI::Range(0.1, 1.));
  verb->add_option("--axis", options->axes,
                   "Sweep for each value of another option, too: workers=--workers:0,2 (repeatable)")
      ->type_name("AXIS")
      ->expected(1)
      ->take_all();
  verb->footer(
      R"(Each size is a run of its own: one that ends in an error, a kill or a hang is a result. On the Mac of --mac its memory
is the limit; beyond this machine's own memory and patience nothing is run, and the edge is extrapolated and said to be.
Ctrl-C keeps what was measured: the same command goes on from there.
Status: 0 a batch is recommended, 1 none could be, 2 nothing could be measured.

Examples:
  anymps sweep --batch-arg --batch-size -- python train.py
  anymps sweep --mac m1-16gb --batch-arg --batch-size --to 512 -- python train.py
  anymps sweep --batch-arg --batch-size --axis workers=--workers:0,2,4 -- python train.py
  anymps sweep --batch-arg BATCH --json -- python train.py | jq .series[0].recommended
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) {
      return options::guarded([&] { return run_verb(*options, command); });
    };
  });
}

}  // namespace anymps::cli
