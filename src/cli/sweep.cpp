#include "lab/runbook/sweep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/lab_verb.h"
#include "cli/trial_options.h"
#include "cli/verbs.h"
#include "lab/runbook/command_setting.h"
#include "lab/runbook/lab_screen.h"
#include "lab/runbook/platform.h"
#include "lab/runbook/step_times.h"
#include "lab/runbook/trial.h"

namespace anymps::cli {
namespace {

using nlohmann::json;

struct SweepOptions {
  lab::SessionOptions session;
  TrialOptions trial;
  lab::SweepSettings sweep;
  std::string batch;
  std::vector<std::string> axes;
};

// One choice of a value for every axis.
using Choice = std::vector<std::pair<const lab::CommandAxis*, std::string>>;

std::vector<Choice> choices_of(const std::vector<lab::CommandAxis>& axes) {
  std::vector<Choice> all = {{}};
  for (const lab::CommandAxis& axis : axes) {
    std::vector<Choice> longer;
    for (const Choice& choice : all) {
      for (const std::string& value : axis.values) {
        longer.push_back(choice);
        longer.back().emplace_back(&axis, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

lab::SweepPoint point_of(const lab::Trial& trial, std::uint64_t batch, std::uint64_t warm_up) {
  lab::SweepPoint point;
  point.batch = batch;
  point.outcome = lab::outcome_text(trial.outcome);
  point.why = trial.why;
  if (trial.outcome != lab::Outcome::kRan) point.output = lab::error_lines(trial.output);
  point.peak_bytes = trial.peak_bytes();
  point.resident_bytes = trial.resident.bytes;
  const lab::RecordedProcess* main = trial.main();
  if (main == nullptr) return point;
  const lab::StepTimes times = lab::step_times(*main, warm_up);
  const auto samples = static_cast<double>(batch);
  point.samples_per_second = times.samples_per_second(samples);
  point.samples_low = times.samples_spread(samples).low;
  point.samples_high = times.samples_spread(samples).high;
  point.step_seconds = times.seconds.median;
  point.first_step_seconds = times.first_seconds;
  point.steady_steps = times.steady_steps;
  const auto limit = main->facts.find("limit");
  if (limit != main->facts.end() && limit->is_number()) point.limit_bytes = limit->get<std::uint64_t>();
  return point;
}

class SweepCommand {
 public:
  SweepCommand(const SweepOptions& options, const std::vector<std::string>& command)
      : options_(options),
        settings_(options.trial.settings("sweep", command)),
        batch_{options.batch},
        session_("sweep", options.session, settings_.command, key()) {}

  int run() {
    std::vector<lab::CommandAxis> axes;
    for (const std::string& axis : options_.axes) axes.push_back(lab::CommandAxis::parse(axis));
    const std::vector<Choice> choices = choices_of(axes);
    auto all = json::array();
    bool every_one = true;
    for (const Choice& choice : choices) {
      json series = one_series(choice);
      every_one = every_one && series["recommended"].is_object();
      all.push_back(std::move(series));
    }
    json document = {{"argument", options_.batch},
                     {"mac", settings_.mac ? json(settings_.mac->name) : json()},
                     {"max_buffer_bytes", settings_.mac ? json(max_buffer()) : json()},
                     {"series", all},
                     {"notes", json::array()}};
    return conclude(options_.session, session_.finish(every_one ? lab::Verdict::kGood : lab::Verdict::kBad, document),
                    lab::sweep_screen);
  }

 private:
  json key() const {
    const lab::SweepSettings& sweep = options_.sweep;
    return {{"trial", options_.trial.key()},
            {"batch", options_.batch},
            {"axes", options_.axes},
            {"sweep",
             {sweep.from, sweep.to, sweep.warm_up, sweep.steps, sweep.verify_steps, sweep.point_seconds, sweep.margin,
              sweep.knee}}};
  }

  std::uint64_t max_buffer() const {
    return gpu::max_buffer_for(static_cast<std::size_t>(settings_.mac->working_set(settings_.macos).value));
  }

  lab::SweepBounds bounds() const {
    lab::SweepBounds bounds;
    bounds.free_bytes = lab::Platform::here().memory_free().value_or(0);
    if (settings_.mac) bounds.swaps_at = settings_.mac->memory.value;
    return bounds;
  }

  json one_series(const Choice& choice) {
    auto axes = json::object();
    std::string prefix;
    for (const auto& [axis, value] : choice) {
      axes[axis->title] = value;
      prefix += axis->title + "=" + value + " ";
    }
    const auto measure = [&](std::uint64_t batch, std::uint64_t steps) {
      const std::string name = fmt::format("{}batch {} for {} steps", prefix, batch, steps);
      const json point = session_.part(name, [&] {
        ++points_;
        return measured(choice, batch, steps, name);
      });
      return lab::sweep_point_from(point);
    };
    json series = lab::to_json(lab::run_sweep(options_.sweep, bounds(), measure));
    series["axes"] = axes;
    return series;
  }

  json measured(const Choice& choice, std::uint64_t batch, std::uint64_t steps, const std::string& name) {
    lab::TrialSettings settings = settings_;
    batch_.apply(std::to_string(batch), settings.command, settings.environment);
    for (const auto& [axis, value] : choice) axis->setting.apply(value, settings.command, settings.environment);
    const json spec = {{"mode", "window"},
                       {"warm_up", options_.sweep.warm_up},
                       {"steps", steps},
                       {"seconds", options_.sweep.point_seconds}};
    const auto total = static_cast<double>(options_.sweep.warm_up + steps);
    // How many points there will be is not known: each is taken for a fifth of what is left.
    const double before = 1 - std::pow(0.8, static_cast<double>(points_ - 1));
    const double after = 1 - std::pow(0.8, static_cast<double>(points_));
    const lab::Trial trial = lab::run_trial(settings, spec, [&](std::uint64_t done) {
      session_.progress().at(before + (after - before) * std::min(1.0, static_cast<double>(done) / total), name);
    });
    if (trial.main() != nullptr) {
      json facts = lab::facts_of(*trial.main());
      facts["peak_bytes"] = trial.peak_bytes();
      session_.put_facts(facts);
    }
    if (trial.outcome == lab::Outcome::kRan && (trial.main() == nullptr || trial.main()->steps.empty())) {
      throw std::runtime_error(
          "the script took no step that PyTorch's optimisers told of; a loop without one calls anymps.step()");
    }
    return lab::to_json(point_of(trial, batch, options_.sweep.warm_up));
  }

  const SweepOptions& options_;
  lab::TrialSettings settings_;
  lab::CommandSetting batch_;
  lab::Session session_;
  std::size_t points_ = 0;
};

}  // namespace

void add_sweep(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* verb = app.add_subcommand("sweep", "Double the batch until memory ends; find the knee, recommend a batch");
  verb->prefix_command();
  add_session_options(*verb, options->session);
  options->trial.add_to(*verb);
  lab::SweepSettings& sweep = options->sweep;
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
      return guarded([&] { return SweepCommand(*options, command).run(); });
    };
  });
}

}  // namespace anymps::cli
