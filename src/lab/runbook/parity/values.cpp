#include "lab/runbook/parity/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>

#include "lab/runbook/parity/ulps.h"
#include "lab/runbook/trial/printed_metric.h"

namespace anymps::lab::runbook::parity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// JSON has no NaN and no infinities.
json exact_json(double value) { return std::isfinite(value) ? json(value) : json(fmt::format("{}", value)); }

double exact_number(const json& value) {
  return value.is_number() ? value.get<double>() : std::strtod(value.get<std::string>().c_str(), nullptr);
}

json value_json(const trial::RecordedValue& value) {
  return {{"what", value.what},   {"name", value.name},     {"kind", value.kind},
          {"step", value.step},   {"dtype", value.dtype},   {"kept", value.kept},
          {"count", value.count}, {"offset", value.offset}, {"shape", value.shape}};
}

trial::RecordedValue recorded_value(const json& row) {
  trial::RecordedValue value;
  row.at("what").get_to(value.what);
  row.at("name").get_to(value.name);
  row.at("kind").get_to(value.kind);
  row.at("step").get_to(value.step);
  row.at("dtype").get_to(value.dtype);
  row.at("kept").get_to(value.kept);
  row.at("count").get_to(value.count);
  row.at("offset").get_to(value.offset);
  value.shape = row.at("shape");
  return value;
}

// Two models of one script may have layers of the same name.
void tell_apart(std::vector<trial::RecordedValue>& values) {
  std::map<std::pair<std::string, std::string>, int> seen;
  for (trial::RecordedValue& value : values) {
    const int number = ++seen[{value.what, value.name}];
    if (number > 1) value.name += fmt::format(" (model {})", number);
  }
}

json printed_metric(const trial::Trial& trial, const std::string& name) {
  if (name.empty() || !trial.folder) return {};
  std::ifstream printed(trial.folder->path() / "output.txt");
  const auto value = trial::last_metric(printed, name);
  return value ? exact_json(*value) : json();
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

json keep_run(const trial::Trial& trial, const std::string& device, const std::string& metric,
              const fs::path& values_path) {
  json part = {{"device", device}, {"outcome", trial::outcome_text(trial.outcome)}};
  if (trial.outcome != trial::Outcome::kRan) part["failure"] = trial::failure_json(trial);
  part["metric"] = printed_metric(trial, metric);
  const trial::RecordedProcess* process = trial.main();
  if (process == nullptr) return part;
  part["facts"] = trial::facts_of(*process);
  part["steps"] = process->steps.size();
  part["values"] = json::array();
  for (const trial::RecordedValue& value : process->values) part["values"].push_back(value_json(value));
  part["losses"] = json::array();
  for (const trial::RecordedLoss& loss : process->losses) {
    part["losses"].push_back({{"step", loss.step}, {"value", exact_json(loss.value)}, {"dtype", loss.dtype}});
  }
  part["modules"] = process->modules;
  part["errors"] = process->errors;
  if (fs::exists(process->values_path)) {
    fs::copy_file(process->values_path, values_path, fs::copy_options::overwrite_existing);
  }
  return part;
}

KeptRun kept_run(const json& part, const fs::path& values_path) {
  KeptRun run;
  part.at("device").get_to(run.device);
  part.at("outcome").get_to(run.outcome);
  if (const auto failure = part.find("failure"); failure != part.end()) {
    failure->at("why").get_to(run.why);
    failure->at("output").get_to(run.output);
  }
  if (const json& metric = part.at("metric"); !metric.is_null()) run.metric = exact_number(metric);
  if (!part.contains("values")) return run;
  part.at("steps").get_to(run.steps);
  for (const json& row : part.at("values")) run.values.push_back(recorded_value(row));
  tell_apart(run.values);
  for (const json& row : part.at("losses")) {
    run.losses.push_back(
        {row.at("step").get<std::uint64_t>(), exact_number(row.at("value")), row.at("dtype").get<std::string>()});
  }
  part.at("modules").get_to(run.modules);
  part.at("errors").get_to(run.errors);
  run.facts = part.at("facts");
  const auto text = [&run](const char* name) {
    const auto found = run.facts.find(name);
    return found != run.facts.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  run.used_device = text("device");
  const auto simulated = run.facts.find("simulated");
  run.simulated = simulated != run.facts.end() && simulated->is_boolean() && simulated->get<bool>();
  run.values_path = values_path;
  if (!run.values.empty() && !fs::exists(values_path)) {
    throw std::runtime_error(
        fmt::format("{}, which the interrupted run left, is gone; --fresh begins anew", values_path.string()));
  }
  return run;
}

}  // namespace anymps::lab::runbook::parity
