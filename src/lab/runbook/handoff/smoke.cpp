#include "lab/runbook/handoff/smoke.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/support/whole_file.h"
#include "lab/base/counted.h"
#include "lab/base/json_text.h"
#include "lab/base/shell_words.h"
#include "lab/host/python.h"
#include "lab/host/remote_host.h"
#include "lab/host/run_folder.h"
#include "lab/runbook/handoff/data_manifest.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/environment_difference.h"
#include "lab/runbook/handoff/golden_command.h"
#include "lab/runbook/handoff/smoke_figures.h"
#include "lab/runbook/handoff/speed_causes.h"
#include "lab/runbook/trial/recorder_files.h"

namespace anymps::lab::runbook::handoff {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Says of a folder whether it holds a bundle: "absent", "other", "changed PATH" or "whole".
constexpr std::string_view kCheck = R"python(
import hashlib, json, os, sys

folder, wanted = sys.argv[1:]


def digest(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def state():
    manifest = os.path.join(folder, "manifest.json")
    if not os.path.exists(folder):
        return "absent"
    if not os.path.exists(manifest) or digest(manifest) != wanted:
        return "other"
    for file in json.load(open(manifest, encoding="utf-8"))["files"]:
        path = os.path.join(folder, file["path"])
        if not os.path.isfile(path) or digest(path) != file["sha256"]:
            return "changed " + file["path"]
    return "whole"


print(state())
)python";

// Prints the recordings in a folder and removes it.
constexpr std::string_view kCollect = R"python(
import json, os, shutil, sys

folder = sys.argv[1]
found = {}
for name in sorted(os.listdir(folder)):
    if name.endswith(".jsonl"):
        found[name] = open(os.path.join(folder, name), encoding="utf-8", errors="replace").read()
print(json.dumps(found))
shutil.rmtree(folder)
)python";

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

template <typename T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json machine_facts(const HostPlatform& platform) {
  return {{"architecture", or_null(platform.machine)},
          {"kernel", fmt::format("{} {}", platform.system.value_or(""), platform.release.value_or(""))},
          {"cpu", or_null(platform.cpu)},
          {"cores", or_null(platform.cores)},
          {"memory_bytes", or_null(platform.memory_bytes)}};
}

class Smoke {
 public:
  Smoke(const Bundle& bundle, const SmokeOptions& options, trial::Session& session)
      : bundle_(bundle), options_(options), session_(session), remote_(host::split_words(options.ssh), options.host) {
    const Golden& golden = bundle.manifest.golden;
    std::vector<std::string> words = {"python"};
    words.insert(words.end(), golden.words.begin(), golden.words.end());
    parts_ = command_parts(words);
    // Paths are this host's own affair.
    for (const auto& [name, value] : bundle.manifest.variables) {
      if (value.find('/') == std::string::npos) {
        variables_.push_back(name + "=" + value);
      } else {
        not_taken_.push_back(name);
      }
    }
  }

  SmokeResult run() {
    screen::Progress& progress = session_.progress();
    progress.at(0.02, "measuring the way there");
    document_.host = remote_.name();
    document_.sha256 = bundle_.sha256;
    document_.golden = bundle_.manifest.golden;
    document_.rtt_seconds = remote_.round_trip_seconds();
    document_.environment = ask();
    document_.differences = environment_differences(
        document_.environment, bundle_.described<Environment>("environment.json").value_or(Environment{}));
    progress.at(0.1, "copying the bundle");
    document_.copied = copy();
    document_.folder = folder_;
    progress.at(0.3, "running a window there");
    run_window();
    progress.at(0.6, "running the plateau test there");
    run_plateau();
    take_notes();
    compare_with_local();
    put_facts();
    const document::Verdict verdict = smoke_verdict(document_.plateau);
    return {.verdict = verdict, .document = std::move(document_)};
  }

 private:
  void run_window() {
    const json figures = session_.part("window", [&] {
      const host::RunFolder recordings = host::RunFolder::temporary();
      record({{"mode", "window"}, {"warm_up", options_.warm_up}, {"steps", options_.steps}}, recordings.path());
      return document::to_json(window_figures(recordings.path()));
    });
    document_.figures = document::described_from<WindowFigures>(figures);
    if (!document_.figures.steps_per_second) {
      throw host::RemoteError(fmt::format("{}: the script took less than {} steps there, so its speed is not known",
                                          remote_.name(), options_.warm_up + 1));
    }
  }

  void run_plateau() {
    const json figures = session_.part("plateau", [&] {
      const host::RunFolder recordings = host::RunFolder::temporary();
      json spec = {{"mode", "plateau"}, {"epochs", options_.epochs}};
      if (options_.epoch_steps > 0) spec["epoch_steps"] = options_.epoch_steps;
      record(spec, recordings.path());
      return document::to_json(plateau_figures(recordings.path(), options_.epochs, options_.threshold));
    });
    document_.plateau = document::described_from<SmokePlateau>(figures);
    // A script that leaves the device alone has its tensors in the process's own memory.
    if (document_.figures.peak_measure == plateau::Measure::kTensors) return;
    for (const plateau::Epoch& epoch : document_.plateau.curve.epochs) {
      document_.figures.peak_bytes = std::max(document_.figures.peak_bytes.value_or(0), epoch.resident_bytes);
    }
  }

  void take_notes() {
    if (!not_taken_.empty()) {
      document_.notes.push_back(fmt::format("not set there, because they hold paths of the host that packed: {}",
                                            fmt::join(not_taken_, ", ")));
    }
    if (!document_.plateau.holds) {
      document_.notes.push_back(
          fmt::format("only {} seen there, too few for the plateau test; --epoch-steps cuts shorter ones",
                      base::counted(document_.plateau.curve.epochs.size(), "epoch")));
    }
  }

  // With the newest run of the same command on this host that tells a speed.
  void compare_with_local() {
    for (const logbook::LoggedRun& run : session_.logbook().runs("", 1000)) {
      if (run.state != logbook::RunState::kDone || run.verb.starts_with("handoff") ||
          !same_script(run.command, bundle_.manifest.golden.given)) {
        continue;
      }
      const auto here = host_speed_of(run.document, run.facts);
      if (!here) continue;
      const WindowFigures& figures = document_.figures;
      const Speed there = {figures.steps_per_second.value_or(0), figures.input_share};
      document_.local = LocalRun{run.id, run.verb, here->figures};
      document_.speed_ratio = there.steps_per_second / here->figures.steps_per_second;
      document_.explanation = explain_speed(*here, {there, document_.environment});
      return;
    }
    document_.notes.emplace_back(
        "the logbook has no run of this command here to compare with; anymps profile makes one");
  }

  std::string with_variables(std::vector<std::string> more) const {
    std::vector<std::string> words = {"env"};
    words.insert(words.end(), variables_.begin(), variables_.end());
    words.insert(words.end(), more.begin(), more.end());
    return base::shell_quoted(words);
  }

  // Runs a program of ours with that host's interpreter.
  std::string ask_python(std::string_view program, const std::vector<std::string>& arguments, const std::string& what) {
    std::vector<std::string> words = {options_.python, "-"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return remote_.run_with(with_variables(words), what, std::string(program));
  }

  Environment ask() {
    Environment environment = environment_from(
        ask_python(environment_question(), {}, fmt::format("{} cannot be run", options_.python)), remote_.name());
    if (!environment.torch) {
      throw host::RemoteError(
          fmt::format("{}: {} has no torch (--python names another)", remote_.name(), options_.python));
    }
    return environment;
  }

  bool copy() {
    const std::string asked =
        options_.folder.empty() ? "anymps-handoff-" + bundle_.sha256.substr(0, 12) : options_.folder;
    const auto state = [&] {
      return without_end(ask_python(kCheck, {asked, bundle_.sha256}, "the copy cannot be checked"));
    };
    const std::string before = state();
    if (before == "absent") {
      const host::RunFolder local = host::RunFolder::temporary();
      write_plain_tar(options_.bundle, bundle_, local.path() / "plain.tar");
      const std::string partial = base::shell_quoted(asked + ".partial");
      remote_.run(fmt::format("set -e; rm -rf {0}; mkdir -p {0}; tar -xf - -C {0}; mv {0} {1}", partial,
                              base::shell_quoted(asked)),
                  "the bundle cannot be copied", local.path() / "plain.tar");
    }
    if (const std::string after = state(); after != "whole") {
      throw host::RemoteError(
          fmt::format("{}: the folder {} there does not hold this bundle ({}); --folder names another", remote_.name(),
                      asked, after));
    }
    folder_ = without_end(remote_.run(fmt::format("cd {} && pwd -P", base::shell_quoted(asked)), "the folder is gone"));
    return before == "absent";
  }

  std::string data_path() const {
    if (!options_.data.empty()) return options_.data;
    const std::optional<DataSet>& data = bundle_.manifest.data;
    if (!data) return kDataWord;
    if (!data->packed) return data->path;
    // A data set that is one file is packed as one file of the folder.
    const auto listed = bundle_.described<DataManifest>("data.manifest.json");
    const std::string name = fs::path(data->path).filename().string();
    const bool is_file = listed && listed->files.size() == 1 && listed->files.front().path == name;
    return folder_ + "/data" + (is_file ? "/" + name : "");
  }

  void record(const json& spec, const fs::path& into) {
    const std::string recordings =
        without_end(remote_.run(R"(mktemp -d "${TMPDIR:-/tmp}/anymps-smoke-XXXXXX")", "there is no room there"));
    std::vector<std::string> words = {"ANYMPS_LAB=" + recordings, "ANYMPS_LAB_SPEC=" + spec.dump(), options_.python};
    words.insert(words.end(), parts_.options.begin(), parts_.options.end());
    words.insert(words.end(), {"-c", std::string(trial::kRunRecorded), folder_});
    words.insert(words.end(), parts_.script.begin(), parts_.script.end());
    for (std::string& word : with_data_path(parts_.arguments, data_path())) words.push_back(std::move(word));
    const std::string start = base::shell_quoted(folder_ + "/" + bundle_.manifest.golden.folder);
    remote_.run(fmt::format("mkdir -p {0} && cd {0} && exec {1} >&2", start, with_variables(words)),
                "the script failed there");
    const json collected = base::json_of(ask_python(kCollect, {recordings}, "there are no recordings"));
    if (!collected.is_object()) throw host::RemoteError(fmt::format("{}: there are no recordings", remote_.name()));
    for (const auto& [name, text] : collected.items()) {
      if (path_fault(name) || name.find('/') != std::string::npos || !text.is_string()) continue;
      gpu::support::write_whole(into / name, text.get<std::string>());
    }
  }

  // The circumstances are that host's; what this one would say of itself in their place is taken away.
  void put_facts() {
    json facts;
    for (const char* name : {"swap", "thermal", "memory_free_bytes", "power_adapter", "low_power_mode", "battery_share",
                             "background", "container"}) {
      facts[name] = nullptr;
    }
    const Environment& environment = document_.environment;
    json mounts = json::array();
    for (const CacheFolder& cache : environment.caches) {
      mounts.push_back({{"name", cache.name}, {"path", or_null(cache.path)}, {"type", or_null(cache.mount)}});
    }
    const Golden& golden = document_.golden;
    const std::optional<DataSet>& data = bundle_.manifest.data;
    facts.update({{"host", document_.host},
                  {"machine", machine_facts(environment.platform)},
                  {"load", or_null(environment.load)},
                  {"cache_mounts", mounts},
                  {"environment", environment.variables},
                  {"artifact_store", {{"host", document_.host}, {"rtt_seconds", document_.rtt_seconds}}},
                  {"torch", or_null(environment.torch.value_or(TorchBuild{}).version)},
                  {"python", or_null(environment.python.version)},
                  {"commit", or_null(golden.commit)},
                  {"dirty", or_null(golden.modified)},
                  {"data_set", data ? document::to_json(*data) : json()},
                  {"batch", or_null(document_.figures.batch)},
                  {"workers", or_null(document_.figures.workers)},
                  {"peak_bytes", or_null(document_.figures.peak_bytes)}});
    session_.put_facts(facts);
  }

  const Bundle& bundle_;
  const SmokeOptions& options_;
  trial::Session& session_;
  host::RemoteHost remote_;
  CommandParts parts_;
  std::vector<std::string> variables_;
  std::vector<std::string> not_taken_;
  std::string folder_;  // on that host, absolute
  SmokeDocument document_;
};

}  // namespace

SmokeResult smoke_handoff(const Bundle& bundle, const SmokeOptions& options, trial::Session& session) {
  return Smoke(bundle, options, session).run();
}

document::Verdict smoke_verdict(const SmokePlateau& plateau) {
  if (!plateau.holds) return document::Verdict::kUnknown;
  return *plateau.holds ? document::Verdict::kGood : document::Verdict::kBad;
}

}  // namespace anymps::lab::runbook::handoff
