#include "lab/runbook/trial/circumstances.h"

#include <cstdlib>
#include <exception>
#include <string_view>

#include "lab/base/json_optional.h"
#include "lab/host/git_state.h"
#include "lab/host/machine.h"
#include "lab/host/round_trip.h"
#include "lab/runbook/trial/data_checksum.h"

namespace anymps::lab::runbook::trial {
namespace {

using nlohmann::json;

// How many of the other processes are written down: those that take the most memory.
constexpr std::size_t kBackground = 8;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json data_set(const std::string& path) {
  if (path.empty()) return nullptr;
  try {
    const DataChecksum sum = data_checksum(path);
    return {{"path", path}, {"sha256", sum.sha256}, {"files", sum.files}, {"bytes", sum.bytes}};
  } catch (const std::exception& error) {
    return {{"path", path}, {"sha256", nullptr}, {"error", error.what()}};
  }
}

json artifact_store(const std::string& text) {
  if (text.empty()) return nullptr;
  const host::HostAndPort target = host::HostAndPort::parse(text);
  const host::RoundTrip trip = host::round_trip(target);
  return {{"host", target.host},
          {"port", target.port},
          {"rtt_seconds", base::or_null(trip.seconds)},
          {"error", text_or_null(trip.error)}};
}

json background() {
  auto all = json::array();
  for (const host::ProcessUse& process : host::Platform::here().busiest_processes(kBackground)) {
    all.push_back(
        {{"name", process.name}, {"resident_bytes", process.resident_bytes}, {"cpu_seconds", process.cpu_seconds}});
  }
  return all;
}

json environment() {
  auto all = json::object();
  for (const auto& [name, value] : host::telling_variables()) all[name] = value;
  return all;
}

}  // namespace

json to_json(const host::ThermalState& thermal) {
  return {{"celsius", base::or_null(thermal.celsius)},
          {"speed_limit", base::or_null(thermal.speed_limit)},
          {"text", text_or_null(thermal.text)}};
}

json to_json(const std::vector<host::CacheMount>& mounts) {
  auto all = json::array();
  for (const host::CacheMount& mount : mounts) {
    all.push_back({{"name", mount.name},
                   {"path", mount.path.string()},
                   {"type", text_or_null(mount.type)},
                   {"network", mount.network}});
  }
  return all;
}

json conditions_now() {
  const host::Platform& platform = host::Platform::here();
  const host::PowerState power = platform.power();
  const auto swap = platform.swap();
  return {{"swap", swap ? json{{"total_bytes", swap->total_bytes}, {"used_bytes", swap->used_bytes}} : json()},
          {"thermal", to_json(platform.thermal())},
          {"load", base::or_null(platform.load())},
          {"memory_free_bytes", base::or_null(platform.memory_free())},
          {"power_adapter", base::or_null(power.on_mains)},
          {"low_power_mode", base::or_null(power.low_power_mode)},
          {"battery_share", base::or_null(power.battery_share)}};
}

json circumstances(const CircumstanceOptions& options) {
  json facts = conditions_now();
  const host::GitState git = host::git_state_here();
  const char* fallback = std::getenv("PYTORCH_ENABLE_MPS_FALLBACK");
  facts.update({{"machine", to_json(host::Machine::here())},
                {"container", text_or_null(host::Platform::here().container())},
                {"commit", text_or_null(git.commit)},
                {"dirty", git.commit.empty() ? json() : json(git.dirty)},
                {"data_set", data_set(options.data)},
                {"background", background()},
                {"artifact_store", artifact_store(options.artifact_store)},
                {"cache_mounts", to_json(host::cache_mounts())},
                {"environment", environment()},
                {"fallback", fallback != nullptr && std::string_view(fallback) == "1"},
                {"resolution", text_or_null(options.resolution)},
                {"owner", text_or_null(options.owner)}});
  return facts;
}

}  // namespace anymps::lab::runbook::trial
