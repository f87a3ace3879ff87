#include "lab/runbook/trial/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string_view>

#include "lab/base/file_text.h"
#include "lab/base/json_text.h"
#include "lab/base/nanosecond.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::trial {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::uint64_t whole_number_in(const json& event, const char* key) {
  return static_cast<std::uint64_t>(std::max(0.0, document::number_in(event, key).value_or(0)));
}

RecordedRound round_of(const json& event) {
  return {static_cast<double>(whole_number_in(event, "ns")) * base::kNanosecond, whole_number_in(event, "n"),
          document::flag_in(event, "counts")};
}

// The process could not write some of its lines.
struct LostLines : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Take = void (*)(RecordedProcess& process, const json& event);

const std::map<std::string, Take, std::less<>>& takers() {
  static const std::map<std::string, Take, std::less<>> all = {
      {"begin",
       [](RecordedProcess& process, const json& event) {
         process.begin = event;
         process.pid = static_cast<std::int64_t>(whole_number_in(event, "pid"));
         process.is_main = document::string_in(event, "role") == "main";
       }},
      {"fact", [](RecordedProcess& process,
                  const json& event) { process.facts[document::string_in(event, "k")] = event.value("v", json()); }},
      {"loader", [](RecordedProcess& process, const json& event) { process.loaders.push_back(event); }},
      {"step",
       [](RecordedProcess& process, const json& event) {
         process.steps.push_back({whole_number_in(event, "t"), whole_number_in(event, "i"), whole_number_in(event, "n"),
                                  whole_number_in(event, "in"), whole_number_in(event, "back"),
                                  whole_number_in(event, "mem"), whole_number_in(event, "drv"),
                                  document::string_in(event, "site")});
       }},
      {"epoch",
       [](RecordedProcess& process, const json& event) {
         process.epochs.push_back({whole_number_in(event, "i"), whole_number_in(event, "steps"),
                                   whole_number_in(event, "mem"), whole_number_in(event, "flushed"),
                                   whole_number_in(event, "drv"), whole_number_in(event, "rss"),
                                   static_cast<double>(whole_number_in(event, "ns")) * base::kNanosecond});
       }},
      {"sites", [](RecordedProcess& process,
                   const json& event) { process.sites.push_back(event.value("rows", json::object())); }},
      {"load", [](RecordedProcess& process, const json& event) { process.loads.push_back(round_of(event)); }},
      {"forward", [](RecordedProcess& process, const json& event) { process.forwards.push_back(round_of(event)); }},
      {"wait",
       [](RecordedProcess& process, const json& event) {
         process.waits.push_back({document::string_in(event, "name"), document::string_in(event, "site"),
                                  whole_number_in(event, "count"),
                                  static_cast<double>(whole_number_in(event, "ns")) * base::kNanosecond});
       }},
      {"fetch", [](RecordedProcess& process, const json& event) { process.fetches.push_back(event); }},
      {"use", [](RecordedProcess& process, const json& event) { process.uses.push_back(event); }},
      {"value", [](RecordedProcess& process,
                   const json& event) { process.values.push_back(document::described_from<RecordedValue>(event)); }},
      {"loss",
       [](RecordedProcess& process, const json& event) {
         const auto value = event.find("value");
         if (value == event.end() || !(value->is_number() || value->is_string())) return;
         // JSON has no NaN and no infinities: those are texts.
         const double loss =
             value->is_number() ? value->get<double>() : std::strtod(value->get<std::string>().c_str(), nullptr);
         process.losses.push_back({whole_number_in(event, "step"), loss, document::string_in(event, "dtype")});
       }},
      {"module", [](RecordedProcess& process,
                    const json& event) { process.modules.push_back(document::described_from<RecordedModule>(event)); }},
      {"error", [](RecordedProcess& process,
                   const json& event) { process.errors.push_back(document::string_in(event, "text")); }},
      {"window",
       [](RecordedProcess& process, const json& event) {
         const bool begins = document::string_in(event, "edge") == "begin";
         (begins ? process.window_begin_ns : process.window_end_ns) = whole_number_in(event, "t");
         (begins ? process.window_begin_step : process.window_end_step) = whole_number_in(event, "step");
       }},
      {"lost", [](RecordedProcess&, const json& event) { throw LostLines(document::string_in(event, "why")); }},
      {"end", [](RecordedProcess& process, const json& event) { process.ended = document::string_in(event, "why"); }},
  };
  return all;
}

RecordedProcess read_process(const fs::path& path) {
  RecordedProcess process;
  std::ifstream file(path);
  try {
    for (std::string line; std::getline(file, line);) {
      const json event = base::json_of(line);
      if (!event.is_object()) continue;
      const auto taker = takers().find(document::string_in(event, "e"));
      if (taker != takers().end()) taker->second(process, event);
    }
  } catch (const LostLines& lost) {
    throw std::runtime_error(fmt::format("{}: the script's record lacks lines: {}", path.string(), lost.what()));
  }
  if (file.bad() || !file.is_open()) {
    throw std::runtime_error(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  }
  process.stacks = base::file_text(fs::path(path).replace_extension(".stacks"));
  process.values_path = fs::path(path).replace_extension(".values");
  return process;
}

}  // namespace

const RecordedProcess* Recording::main() const {
  const auto stepped = std::ranges::find_if(processes, [](const auto& process) { return !process.steps.empty(); });
  if (stepped != processes.end()) return &*stepped;
  return processes.empty() ? nullptr : &processes.front();
}

Recording read_recording(const fs::path& folder) {
  Recording recording;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".jsonl") recording.processes.push_back(read_process(entry.path()));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  }
  std::ranges::sort(recording.processes, [](const RecordedProcess& left, const RecordedProcess& right) {
    return std::pair(!left.is_main, left.pid) < std::pair(!right.is_main, right.pid);
  });
  return recording;
}

json facts_of(const RecordedProcess& process) {
  json facts;
  for (const char* key : {"torch", "torch_commit", "python", "executable", "threads", "simulated"}) {
    facts[key] = process.begin.value(key, json());
  }
  for (const auto& [name, value] : process.facts.items()) facts[name] = value;
  for (const char* name : {"amp", "checkpointing"}) {
    if (!facts.contains(name)) facts[name] = false;
  }
  if (!facts.contains("accumulation")) facts["accumulation"] = 1;
  if (!process.loaders.empty()) {
    const json& loader = process.loaders.front();
    facts["loader"] = loader;
    for (const char* name : {"workers", "worker_init", "pin_memory"}) facts[name] = loader.value(name, json());
  }
  if (const auto shape = facts.find("batch_shape"); shape != facts.end() && shape->is_array() && !shape->empty()) {
    facts["batch"] = shape->front();
  }
  return facts;
}

}  // namespace anymps::lab::runbook::trial
