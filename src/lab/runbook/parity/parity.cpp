#include "lab/runbook/parity/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "gpu/support/whole_file.h"
#include "lab/host/child.h"
#include "lab/host/machine.h"
#include "lab/runbook/parity/genuine_check.h"
#include "lab/runbook/parity/reviewed_table.h"
#include "lab/runbook/parity/values.h"

namespace anymps::lab::runbook::parity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kDriftSteps = 20;
constexpr const char* kSimulated =
    "This mps is the one that anymps provides, and runs the CPU's kernels: that nothing differs here proves nothing "
    "about a Mac. The same command there compares with Apple's own.";

// How many steps are run; 0: to the script's end.
std::uint64_t compared_steps(const ParityOptions& options) {
  return options.steps.value_or(options.metric.empty() ? kDriftSteps : 0);
}

// The words that start Python; none where the command has no Python in it.
std::vector<std::string> interpreter_of(const std::vector<std::string>& command) {
  const auto python = std::ranges::find_if(
      command, [](const std::string& word) { return fs::path(word).filename().string().starts_with("python"); });
  return python == command.end() ? std::vector<std::string>() : std::vector(command.begin(), python + 1);
}

std::vector<std::string> devices_here(const ParityOptions& options) {
  std::vector<std::string> devices = {"cpu", "mps"};
  const std::vector<std::string> python = interpreter_of(options.trial.command);
  if (python.empty()) return devices;
  const json torch = host::ask_python({python, options.trial.environment}).value("torch", json::object());
  if (torch.value("cuda_available", false)) devices.emplace_back("cuda");
  return devices;
}

json run_device(trial::Session& session, const ParityOptions& options, const std::string& device, double begin,
                double share, const fs::path& values_path) {
  trial::TrialSettings settings = options.trial;
  options.device.apply(device, settings.command, settings.environment);
  if (device.starts_with("mps")) {
    // Beside a CUDA GPU the device only comes where it is asked for.
    if (std::getenv("ANYMPS") == nullptr) settings.environment["ANYMPS"] = "1";
    if (!options.genuine.empty()) settings.environment["ANYMPS_TRACE_CALLS"] = "1";
  }
  const std::uint64_t steps = compared_steps(options);
  json spec = {{"mode", "parity"}, {"seed", options.seed}, {"no_dropout", options.no_dropout}};
  // The recorder counts them behind the first step.
  if (steps > 0) spec["steps"] = steps - 1;
  session.progress().at(begin, device);
  const trial::Trial trial = trial::run_trial(settings, spec, [&](std::uint64_t taken) {
    const double done = steps > 0 ? static_cast<double>(taken) / static_cast<double>(steps) : 0;
    session.progress().at(begin + share * std::min(1.0, done), fmt::format("{}, step {}", device, taken));
  });
  json part = keep_run(trial, device, options.metric, values_path);
  part["operators"] = device.starts_with("mps") ? operators_in(trial.traces) : json::array();
  return part;
}

std::string run_failure_text(const KeptRun& run) {
  if (!run.ran()) return fmt::format("on {} the script did not run ({}): {}", run.device, run.outcome, run.why);
  return fmt::format(
      "on {} no step of an optimiser was seen; is anymps installed for that Python, and does the script train?",
      run.device);
}

bool plays_mps(const KeptRun& run) { return run.simulated && run.device.starts_with("mps"); }

bool is_on_its_device(const KeptRun& run) {
  return run.used_device.empty() || run.device.substr(0, run.device.find(':')) == run.used_device;
}

// What the reasons for a verdict are. A bad one outweighs what could not be found out.
struct Findings {
  std::vector<std::string> bad;
  std::vector<std::string> unknown;

  document::Verdict verdict() const {
    if (!bad.empty()) return document::Verdict::kBad;
    return unknown.empty() ? document::Verdict::kGood : document::Verdict::kUnknown;
  }
  json all() const {
    json texts = bad;
    for (const std::string& text : unknown) texts.push_back(text);
    return texts;
  }
};

json compared(const KeptRun& reference, const KeptRun& run, const ParityOptions& options, Findings& findings) {
  const bool trained = run.ran() && run.steps > 0;
  json comparison = trained && is_on_its_device(run)
                        ? compare_runs(reference, run, options.limits)
                        : json{{"device", run.device},     {"layers", json::array()}, {"gradients", json::array()},
                               {"steps", json::array()},   {"drift", json()},         {"random_from", json()},
                               {"findings", json::array()}};
  comparison["outcome"] = run.outcome;
  comparison["why"] = run.why;
  comparison["output"] = run.output;
  if (!trained) comparison["findings"].push_back(run_failure_text(run));
  for (const json& finding : comparison.at("findings")) findings.bad.push_back(finding);
  if (!is_on_its_device(run)) {
    findings.unknown.push_back(fmt::format("asked for {}, the script had its parameters on {}: nothing was compared",
                                           run.device, run.used_device));
  }
  return comparison;
}

json metric_of(const std::vector<KeptRun>& runs, const ParityOptions& options, Findings& findings) {
  if (options.metric.empty()) return {};
  json values = json::object();
  std::string silent;
  bool within = true;
  for (const KeptRun& run : runs) {
    if (!run.ran()) continue;
    values[run.device] = run.metric && std::isfinite(*run.metric) ? json(*run.metric) : json();
    if (!run.metric) silent += (silent.empty() ? "" : ", ") + run.device;
  }
  const std::optional<double> expected = runs.front().metric;
  if (!expected) {
    findings.unknown.push_back(fmt::format("on {} the script printed no number behind `{}`", silent, options.metric));
    within = false;
  } else {
    for (const KeptRun& run : runs) {
      if (!run.ran()) continue;
      const bool same = run.metric && (*run.metric == *expected || (std::isnan(*run.metric) && std::isnan(*expected)));
      // Written so that NaN is apart from everything.
      if (same || (run.metric && std::abs(*run.metric - *expected) <= options.tolerance)) continue;
      within = false;
      findings.bad.push_back(
          run.metric ? fmt::format("{} is {} on {} and {} on {} (tolerance {})", options.metric, *expected,
                                   runs.front().device, *run.metric, run.device, options.tolerance)
                     : fmt::format("on {} the script printed no number behind `{}`", run.device, options.metric));
    }
  }
  return {{"name", options.metric}, {"tolerance", options.tolerance}, {"values", values}, {"within", within}};
}

json reviewed(const json& comparisons, const ParityOptions& options, Findings& findings) {
  if (options.table.empty()) return {};
  const ParityTable here = ParityTable::of(comparisons);
  json changed = json::array();
  if (options.update) {
    gpu::support::write_whole(options.table, here.text());
  } else {
    changed = here.changes_since(ParityTable::read(options.table), options.slack);
  }
  if (!changed.empty()) {
    findings.bad.push_back(fmt::format("{} row{} of {} changed since {} reviewed", changed.size(),
                                       changed.size() == 1 ? "" : "s", options.table,
                                       changed.size() == 1 ? "it was" : "they were"));
  }
  return {{"path", options.table}, {"updated", options.update}, {"slack", options.slack}, {"changed", changed}};
}

json parity_notes(const std::vector<KeptRun>& runs, const json& comparisons, const ParityOptions& options) {
  json notes = json::array();
  if (std::ranges::any_of(runs, plays_mps)) notes.push_back(kSimulated);
  for (const json& comparison : comparisons) {
    if (const json& layer = comparison.at("random_from"); !layer.is_null() && !options.no_dropout) {
      notes.push_back(fmt::format(
          "Dropout draws other masks on {}: from layer {} on, nothing was judged, nor gradients and losses. "
          "--no-dropout leaves dropout out.",
          comparison.at("device").get<std::string>(), layer.get<std::string>()));
    }
  }
  if (!comparisons.empty() && runs.front().losses.empty()) {
    notes.push_back("No loss was seen: the script calls backward() on no tensor of one element.");
  }
  for (const KeptRun& run : runs) {
    for (const std::string& error : run.errors)
      notes.push_back(fmt::format("The recorder, on {}: {}", run.device, error));
  }
  return notes;
}

void log_facts(trial::Session& session, const std::vector<KeptRun>& runs) {
  json facts = runs.front().facts;
  std::string devices;
  for (const KeptRun& run : runs) devices += (devices.empty() ? "" : ", ") + run.device;
  facts["device"] = devices;
  facts["simulated"] = std::ranges::any_of(runs, plays_mps);
  session.put_facts(facts);
}

}  // namespace

json to_json(const ParityOptions& options) {
  return {{"devices", options.devices},
          {"device", options.device.name},
          {"environment", options.trial.environment},
          {"seed", options.seed},
          {"steps", compared_steps(options)},
          {"no_dropout", options.no_dropout},
          {"max_relative", options.limits.max_relative},
          {"drift", options.limits.drift},
          {"metric", options.metric},
          {"tolerance", options.tolerance},
          {"table", options.table},
          {"update", options.update},
          {"slack", options.slack},
          {"genuine", options.genuine}};
}

json parity(trial::Session& session, const ParityOptions& options) {
  // Found out before the training, not after.
  if (!options.table.empty() && !options.update) ParityTable::read(options.table);
  const std::vector<std::string> devices = options.devices.empty()
                                               ? session.part("devices", [&] { return json(devices_here(options)); })
                                               : json(options.devices);
  const ParityFolder folder(session.logbook().path(), session.run());
  std::vector<KeptRun> runs;
  json operators = json::array();
  const double share = 1.0 / static_cast<double>(devices.size());
  for (const std::string& device : devices) {
    const fs::path values_path = folder.values_path(device);
    const double begin = share * static_cast<double>(runs.size());
    const json part = session.part("device " + device,
                                   [&] { return run_device(session, options, device, begin, share, values_path); });
    runs.push_back(kept_run(part, values_path));
    for (const json& name : part.at("operators")) operators.push_back(name);
    // Nothing can be held against a reference that is not there.
    if (runs.size() == 1 && (!runs[0].ran() || runs[0].steps == 0)) break;
  }

  const KeptRun& reference = runs.front();
  Findings findings;
  json document = {{"reference", reference.device}, {"seed", options.seed}, {"no_dropout", options.no_dropout}};
  json& comparisons = document["comparisons"] = json::array();
  document["metric"] = document["table"] = nullptr;
  document["genuine"] = json::array();
  json genuine_notes = json::array();
  if (runs.size() < devices.size()) {
    findings.unknown.push_back(run_failure_text(reference));
    document["output"] = reference.output;
  } else {
    if (!is_on_its_device(reference)) {
      findings.unknown.push_back(
          fmt::format("asked for {}, the script had its parameters on {}", reference.device, reference.used_device));
    }
    for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
      comparisons.push_back(compared(reference, *run, options, findings));
    }
    document["metric"] = metric_of(runs, options, findings);
    document["table"] = reviewed(comparisons, options, findings);
    // A Mac's own device runs them anyway.
    if (std::ranges::any_of(runs, plays_mps)) {
      const json genuine = session.part("genuine", [&] {
        return check_genuine_kernels(options.genuine, interpreter_of(options.trial.command), operators, reference);
      });
      document["genuine"] = genuine.at("rows");
      genuine_notes = genuine.at("notes");
    }
  }
  document["dtype_policy"] = dtype_policy(runs);
  document["findings"] = findings.all();
  document["notes"] = parity_notes(runs, comparisons, options);
  for (const json& note : genuine_notes) document["notes"].push_back(note);
  log_facts(session, runs);
  json finished = session.finish(findings.verdict(), std::move(document));
  folder.remove();
  return finished;
}

}  // namespace anymps::lab::runbook::parity
