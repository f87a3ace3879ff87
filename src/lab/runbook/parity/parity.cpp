#include "lab/runbook/parity/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

#include "gpu/support/whole_file.h"
#include "lab/host/child.h"
#include "lab/host/machine.h"
#include "lab/runbook/parity/document.h"
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

KeptRun run_device(trial::Session& session, const ParityOptions& options, const std::string& device, double begin,
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
  KeptRun run = keep_run(trial, device, options.metric, values_path);
  if (device.starts_with("mps")) run.operators = operators_in(trial.traces);
  return run;
}

// With nothing in it where the run has none.
document::Failure failure_of(const KeptRun& run) { return run.failure.value_or(document::Failure{}); }

std::string run_failure_text(const KeptRun& run) {
  if (!run.ran()) {
    return fmt::format("on {} the script did not run ({}): {}", run.device, word_of(run.outcome), failure_of(run).why);
  }
  return fmt::format(
      "on {} no step of an optimiser was seen; is anymps installed for that Python, and does the script train?",
      run.device);
}

bool plays_mps(const KeptRun& run) { return run.simulated() && run.device.starts_with("mps"); }

bool is_on_its_device(const KeptRun& run) {
  const std::string used = run.used_device();
  return used.empty() || run.device.substr(0, run.device.find(':')) == used;
}

// What the reasons for a verdict are. A bad one outweighs what could not be found out.
struct Findings {
  std::vector<std::string> bad;
  std::vector<std::string> unknown;

  document::Verdict verdict() const {
    if (!bad.empty()) return document::Verdict::kBad;
    return unknown.empty() ? document::Verdict::kGood : document::Verdict::kUnknown;
  }
  std::vector<std::string> all() const {
    std::vector<std::string> texts = bad;
    texts.insert(texts.end(), unknown.begin(), unknown.end());
    return texts;
  }
};

Comparison compared(const KeptRun& reference, const KeptRun& run, const ParityOptions& options, Findings& findings) {
  const bool trained = run.ran() && run.steps > 0;
  Comparison comparison;
  if (trained && is_on_its_device(run)) comparison = compare_runs(reference, run, options.limits);
  comparison.device = run.device;
  comparison.outcome = run.outcome;
  comparison.why = failure_of(run).why;
  comparison.output = failure_of(run).output;
  if (!trained) comparison.findings.push_back(run_failure_text(run));
  findings.bad.insert(findings.bad.end(), comparison.findings.begin(), comparison.findings.end());
  if (!is_on_its_device(run)) {
    findings.unknown.push_back(fmt::format("asked for {}, the script had its parameters on {}: nothing was compared",
                                           run.device, run.used_device()));
  }
  return comparison;
}

std::optional<Metric> metric_of(const std::vector<KeptRun>& runs, const ParityOptions& options, Findings& findings) {
  if (options.metric.empty()) return std::nullopt;
  Metric metric{.name = options.metric, .tolerance = options.tolerance, .values = {}, .within = true};
  std::string silent;
  for (const KeptRun& run : runs) {
    if (!run.ran()) continue;
    std::optional<double>& value = metric.values[run.device];
    if (run.metric && std::isfinite(*run.metric)) value = *run.metric;
    if (!run.metric) silent += (silent.empty() ? "" : ", ") + run.device;
  }
  const std::optional<double> expected = runs.front().metric;
  if (!expected) {
    findings.unknown.push_back(fmt::format("on {} the script printed no number behind `{}`", silent, options.metric));
    metric.within = false;
    return metric;
  }
  for (const KeptRun& run : runs) {
    if (!run.ran()) continue;
    const std::optional<double> found = run.metric;
    const bool same = found && (*found == *expected || (std::isnan(*found) && std::isnan(*expected)));
    // Written so that NaN is apart from everything.
    if (same || (found && std::abs(*found - *expected) <= options.tolerance)) continue;
    metric.within = false;
    findings.bad.push_back(
        found ? fmt::format("{} is {} on {} and {} on {} (tolerance {})", options.metric, *expected,
                            runs.front().device, *found, run.device, options.tolerance)
              : fmt::format("on {} the script printed no number behind `{}`", run.device, options.metric));
  }
  return metric;
}

std::optional<ReviewedTable> reviewed(const std::vector<Comparison>& comparisons, const ParityOptions& options,
                                      Findings& findings) {
  if (options.table.empty()) return std::nullopt;
  const ParityTable here = ParityTable::of(comparisons);
  ReviewedTable table{.path = options.table, .updated = options.update, .slack = options.slack, .changed = {}};
  if (options.update) {
    gpu::support::write_whole(options.table, here.text());
  } else {
    table.changed = here.changes_since(ParityTable::read(options.table), options.slack);
  }
  if (const std::size_t changed = table.changed.size(); changed > 0) {
    findings.bad.push_back(fmt::format("{} row{} of {} changed since {} reviewed", changed, changed == 1 ? "" : "s",
                                       options.table, changed == 1 ? "it was" : "they were"));
  }
  return table;
}

std::vector<std::string> parity_notes(const std::vector<KeptRun>& runs, const std::vector<Comparison>& comparisons,
                                      const ParityOptions& options) {
  std::vector<std::string> notes;
  if (std::ranges::any_of(runs, plays_mps)) notes.emplace_back(kSimulated);
  for (const Comparison& comparison : comparisons) {
    if (comparison.random_from && !options.no_dropout) {
      notes.push_back(fmt::format(
          "Dropout draws other masks on {}: from layer {} on, nothing was judged, nor gradients and losses. "
          "--no-dropout leaves dropout out.",
          comparison.device, *comparison.random_from));
    }
  }
  if (!comparisons.empty() && runs.front().losses.empty()) {
    notes.emplace_back("No loss was seen: the script calls backward() on no tensor of one element.");
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

std::vector<std::string> devices_of(trial::Session& session, const ParityOptions& options) {
  if (!options.devices.empty()) return options.devices;
  std::vector<std::string> devices;
  for (const json& device : session.part("devices", [&] { return json(devices_here(options)); })) {
    if (device.is_string()) devices.push_back(device.get<std::string>());
  }
  if (devices.empty()) throw std::runtime_error("the interrupted run has no devices; --fresh begins anew");
  return devices;
}

// Of all devices; of the reference alone where that did not run, because nothing can be held against it.
std::vector<KeptRun> runs_of(trial::Session& session, const ParityOptions& options,
                             const std::vector<std::string>& devices, const ParityFolder& folder) {
  std::vector<KeptRun> runs;
  const double share = 1.0 / static_cast<double>(devices.size());
  for (const std::string& device : devices) {
    const fs::path values_path = folder.values_path(device);
    const double begin = share * static_cast<double>(runs.size());
    const json part = session.part("device " + device, [&] {
      return document::to_json(run_device(session, options, device, begin, share, values_path));
    });
    runs.push_back(kept_run(part, values_path));
    if (runs.size() == 1 && (!runs[0].ran() || runs[0].steps == 0)) break;
  }
  return runs;
}

GenuineCheck genuine_check(trial::Session& session, const ParityOptions& options, const std::vector<KeptRun>& runs) {
  std::vector<std::string> operators;
  for (const KeptRun& run : runs) operators.insert(operators.end(), run.operators.begin(), run.operators.end());
  return document::described_from<GenuineCheck>(session.part("genuine", [&] {
    return document::to_json(
        check_genuine_kernels(options.genuine, interpreter_of(options.trial.command), operators, runs.front()));
  }));
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
  const std::vector<std::string> devices = devices_of(session, options);
  const ParityFolder folder(session.logbook().path(), session.run());
  const std::vector<KeptRun> runs = runs_of(session, options, devices, folder);

  const KeptRun& reference = runs.front();
  Findings findings;
  ParityDocument document;
  document.reference = reference.device;
  document.seed = options.seed;
  document.no_dropout = options.no_dropout;
  GenuineCheck genuine;
  if (runs.size() < devices.size()) {
    findings.unknown.push_back(run_failure_text(reference));
    document.output = failure_of(reference).output;
  } else {
    if (!is_on_its_device(reference)) {
      findings.unknown.push_back(
          fmt::format("asked for {}, the script had its parameters on {}", reference.device, reference.used_device()));
    }
    for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
      document.comparisons.push_back(compared(reference, *run, options, findings));
    }
    document.metric = metric_of(runs, options, findings);
    document.table = reviewed(document.comparisons, options, findings);
    // A Mac's own device runs them anyway.
    if (std::ranges::any_of(runs, plays_mps)) genuine = genuine_check(session, options, runs);
  }
  document.genuine = std::move(genuine.rows);
  document.dtype_policy = dtype_policy(runs);
  document.findings = findings.all();
  document.notes = parity_notes(runs, document.comparisons, options);
  document.notes.insert(document.notes.end(), genuine.notes.begin(), genuine.notes.end());
  log_facts(session, runs);
  json finished = session.finish(findings.verdict(), document::to_json(document));
  folder.remove();
  return finished;
}

}  // namespace anymps::lab::runbook::parity
