#include "lab/runbook/parity/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/parity/ulps.h"
#include "lab/runbook/trial/printed_metric.h"

namespace anymps::lab::runbook::parity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Two models of one script may have layers of the same name.
void tell_apart(std::vector<trial::RecordedValue>& values) {
  std::map<std::pair<std::string, std::string>, int> seen;
  for (trial::RecordedValue& value : values) {
    const int number = ++seen[{value.what, value.name}];
    if (number > 1) value.name += fmt::format(" (model {})", number);
  }
}

std::optional<double> printed_metric(const trial::Trial& trial, const std::string& name) {
  if (name.empty() || !trial.folder) return std::nullopt;
  std::ifstream printed(trial.folder->path() / "output.txt");
  return trial::last_metric(printed, name);
}

}  // namespace

ParityFolder::ParityFolder(const fs::path& logbook, std::int64_t run)
    : path_(fs::absolute(logbook.string() + ".runs") / std::to_string(run)) {}

fs::path ParityFolder::values_path(const std::string& device) const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw std::runtime_error(fmt::format("cannot make {}: {}", path_.string(), error.message()));
  std::string name = device;
  std::ranges::replace(name, '/', '_');
  return path_ / (name + ".values");
}

void ParityFolder::remove() const {
  std::error_code error;
  fs::remove_all(path_, error);
  fs::remove(path_.parent_path(), error);  // where no other run has files in it
}

std::vector<std::byte> KeptRun::read(const trial::RecordedValue& value) const {
  const auto kind = element_kind(value.kept);
  if (!kind) return {};
  std::ifstream file(values_path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, file.tellg()));
  if (!file || value.offset >= size) return {};
  const std::uint64_t there = (size - value.offset) / element_bytes(*kind);
  std::vector<std::byte> bytes(std::min(value.count, there) * element_bytes(*kind));
  file.seekg(static_cast<std::streamoff>(value.offset));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

std::string KeptRun::used_device() const { return document::string_in(facts, "device"); }

bool KeptRun::simulated() const { return document::flag_in(facts, "simulated"); }

KeptRun keep_run(const trial::Trial& trial, const std::string& device, const std::string& metric,
                 const fs::path& values_path) {
  KeptRun run;
  run.device = device;
  run.outcome = trial.outcome;
  run.failure = trial.failure();
  run.metric = printed_metric(trial, metric);
  run.values_path = values_path;
  const trial::RecordedProcess* process = trial.main();
  if (process == nullptr) return run;
  run.facts = trial::facts_of(*process);
  run.steps = process->steps.size();
  run.values = process->values;
  run.losses = process->losses;
  run.modules = process->modules;
  run.errors = process->errors;
  if (fs::exists(process->values_path)) {
    fs::copy_file(process->values_path, values_path, fs::copy_options::overwrite_existing);
  }
  return run;
}

KeptRun kept_run(const json& part, const fs::path& values_path) {
  auto run = document::described_from<KeptRun>(part);
  if (!run.facts.is_object()) run.facts = json::object();
  tell_apart(run.values);
  run.values_path = values_path;
  if (!run.values.empty() && !fs::exists(values_path)) {
    throw std::runtime_error(
        fmt::format("{}, which the interrupted run left, is gone; --fresh begins anew", values_path.string()));
  }
  return run;
}

}  // namespace anymps::lab::runbook::parity
