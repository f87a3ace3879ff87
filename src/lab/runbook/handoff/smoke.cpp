#include "lab/runbook/handoff/smoke.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "gpu/support/whole_file.h"
#include "lab/base/counted.h"
#include "lab/base/json_text.h"
#include "lab/base/shell_words.h"
#include "lab/host/python.h"
#include "lab/host/remote_host.h"
#include "lab/host/run_folder.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/environment_difference.h"
#include "lab/runbook/handoff/golden_command.h"
#include "lab/runbook/handoff/smoke_figures.h"
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

class Smoke {
 public:
  Smoke(const Bundle& bundle, const SmokeOptions& options, trial::Session& session)
      : bundle_(bundle), options_(options), session_(session), remote_(host::split_words(options.ssh), options.host) {
    std::vector<std::string> words = {"python"};
    for (const json& word : bundle.manifest["golden"].value("words", json::array())) {
      words.push_back(word.get<std::string>());
    }
    parts_ = command_parts(words);
    // Paths are this host's own affair.
    const json variables = bundle.manifest.value("variables", json::object());
    for (const auto& [name, value] : variables.items()) {
      if (const std::string text = value.get<std::string>(); text.find('/') == std::string::npos) {
        variables_.push_back(name + "=" + text);
      } else {
        not_taken_.push_back(name);
      }
    }
  }

  json run() {
    screen::Progress& progress = session_.progress();
    progress.at(0.02, "measuring the way there");
    const double round_trip = remote_.round_trip_seconds();
    const json environment = ask();
    progress.at(0.1, "copying the bundle");
    const bool copied = copy();
    progress.at(0.3, "running a window there");
    json figures = session_.part("window", [&] {
      const host::RunFolder recordings = host::RunFolder::temporary();
      record({{"mode", "window"}, {"warm_up", options_.warm_up}, {"steps", options_.steps}}, recordings.path());
      return window_figures(recordings.path());
    });
    if (figures["steps_per_second"].is_null()) {
      throw host::RemoteError(fmt::format("{}: the script took less than {} steps there, so its speed is not known",
                                          remote_.name(), options_.warm_up + 1));
    }
    progress.at(0.6, "running the plateau test there");
    const json plateau = session_.part("plateau", [&] {
      const host::RunFolder recordings = host::RunFolder::temporary();
      json spec = {{"mode", "plateau"}, {"epochs", options_.epochs}};
      if (options_.epoch_steps > 0) spec["epoch_steps"] = options_.epoch_steps;
      record(spec, recordings.path());
      return plateau_figures(recordings.path(), options_.epochs, options_.threshold);
    });
    // A script that leaves the device alone has its tensors in the process's own memory.
    for (const json& epoch : plateau["epochs"]) {
      if (figures["peak_measure"] == "tensors") break;
      figures["peak_bytes"] = std::max(figures["peak_bytes"], epoch["resident_bytes"]);
    }
    json notes = json::array();
    if (!not_taken_.empty()) {
      notes.push_back(fmt::format("not set there, because they hold paths of the host that packed: {}",
                                  fmt::join(not_taken_, ", ")));
    }
    if (plateau["holds"].is_null()) {
      notes.push_back(fmt::format("only {} seen there, too few for the plateau test; --epoch-steps cuts shorter ones",
                                  base::counted(plateau["epochs"].size(), "epoch")));
    }
    const json local = local_side();
    json document = {{"host", remote_.name()},
                     {"rtt_seconds", round_trip},
                     {"folder", folder_},
                     {"copied", copied},
                     {"sha256", bundle_.sha256},
                     {"golden", bundle_.manifest["golden"]},
                     {"figures", figures},
                     {"plateau", plateau},
                     {"environment", environment},
                     {"differences", environment_differences(environment, bundle_.document("environment.json"))},
                     {"local", nullptr},
                     {"speed_ratio", nullptr},
                     {"explanation", json::array()}};
    if (local.is_null()) {
      notes.push_back("the logbook has no run of this command here to compare with; anymps profile makes one");
    } else {
      document["local"] = {{"run", local["run"]}, {"verb", local["verb"]}, {"figures", local["figures"]}};
      document["speed_ratio"] =
          figures["steps_per_second"].get<double>() / local["figures"]["steps_per_second"].get<double>();
      document["explanation"] = explain_speed(local, {{"figures", figures}, {"environment", environment}});
    }
    document["notes"] = std::move(notes);
    put_facts(round_trip, environment, figures);
    return document;
  }

 private:
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

  json ask() {
    json environment = environment_from(
        ask_python(environment_question(), {}, fmt::format("{} cannot be run", options_.python)), remote_.name());
    if (environment["torch"].is_null()) {
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
    const json data = bundle_.manifest.value("data", json());
    if (!data.is_object()) return kDataWord;
    if (data.value("packed", json()) != true) return data.value("path", "");
    // A data set that is one file is packed as one file of the folder.
    const json listed = bundle_.document("data.manifest.json");
    const json files = listed.is_object() ? listed.value("files", json::array()) : json::array();
    const std::string name = fs::path(data.value("path", "")).filename().string();
    const bool is_file = files.size() == 1 && files[0].is_object() && files[0].value("path", json()) == name;
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
    const std::string start = base::shell_quoted(folder_ + "/" + bundle_.manifest["golden"].value("folder", "files"));
    remote_.run(fmt::format("mkdir -p {0} && cd {0} && exec {1} >&2", start, with_variables(words)),
                "the script failed there");
    const json collected = base::json_of(ask_python(kCollect, {recordings}, "there are no recordings"));
    if (!collected.is_object()) throw host::RemoteError(fmt::format("{}: there are no recordings", remote_.name()));
    for (const auto& [name, text] : collected.items()) {
      if (path_fault(name) || name.find('/') != std::string::npos || !text.is_string()) continue;
      gpu::support::write_whole(into / name, text.get<std::string>());
    }
  }

  // The newest run of the same command on this host that tells a speed, in the form of explain_speed; null: none.
  json local_side() {
    std::vector<std::string> given;
    for (const json& word : bundle_.manifest["golden"].value("given", json::array())) {
      if (word.is_string()) given.push_back(word.get<std::string>());
    }
    for (const logbook::LoggedRun& run : session_.logbook().runs("", 1000)) {
      if (run.state != logbook::RunState::kDone || run.verb.starts_with("handoff") || !same_script(run.command, given))
        continue;
      json side = local_side_of(run.document, run.facts);
      if (side.is_null()) continue;
      side.update({{"run", run.id}, {"verb", run.verb}});
      return side;
    }
    return nullptr;
  }

  // The circumstances are that host's; what this one would say of itself in their place is taken away.
  void put_facts(double round_trip, const json& environment, const json& figures) {
    json facts;
    for (const char* name : {"swap", "thermal", "memory_free_bytes", "power_adapter", "low_power_mode", "battery_share",
                             "background", "container"}) {
      facts[name] = nullptr;
    }
    const json& platform = environment["platform"];
    json mounts = json::array();
    for (const json& cache : environment["caches"]) {
      mounts.push_back({{"name", cache["name"]}, {"path", cache["path"]}, {"type", cache["mount"]}});
    }
    facts.update({{"host", remote_.name()},
                  {"machine",
                   {{"architecture", platform["machine"]},
                    {"kernel", fmt::format("{} {}", platform.value("system", ""), platform.value("release", ""))},
                    {"cpu", platform["cpu"]},
                    {"cores", platform["cores"]},
                    {"memory_bytes", platform["memory_bytes"]}}},
                  {"load", environment["load"]},
                  {"cache_mounts", mounts},
                  {"environment", environment["variables"]},
                  {"artifact_store", {{"host", remote_.name()}, {"rtt_seconds", round_trip}}},
                  {"torch", environment["torch"]["version"]},
                  {"python", environment["python"]["version"]},
                  {"commit", bundle_.manifest["golden"].value("commit", json())},
                  {"dirty", bundle_.manifest["golden"].value("modified", json())},
                  {"data_set", bundle_.manifest.value("data", json())},
                  {"batch", figures["batch"]},
                  {"workers", figures["workers"]},
                  {"peak_bytes", figures["peak_bytes"]}});
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
};

}  // namespace

json smoke_handoff(const Bundle& bundle, const SmokeOptions& options, trial::Session& session) {
  return Smoke(bundle, options, session).run();
}

document::Verdict smoke_verdict(const json& document) {
  const json& holds = document["plateau"]["holds"];
  if (holds.is_null()) return document::Verdict::kUnknown;
  return holds == false ? document::Verdict::kBad : document::Verdict::kGood;
}

}  // namespace anymps::lab::runbook::handoff
