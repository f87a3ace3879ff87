#include "lab/runbook/circumstances.h"

#include <cstdlib>
#include <exception>
#include <string_view>

#include "lab/json_optional.h"
#include "lab/machine.h"
#include "lab/runbook/data_checksum.h"
#include "lab/runbook/git_state.h"
#include "lab/runbook/round_trip.h"

namespace anymps::lab {
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
  const HostAndPort target = HostAndPort::parse(text);
  const RoundTrip trip = round_trip(target);
  return {{"host", target.host},
          {"port", target.port},
          {"rtt_seconds", or_null(trip.seconds)},
          {"error", text_or_null(trip.error)}};
}

json background() {
  auto all = json::array();
  for (const ProcessUse& process : Platform::here().busiest_processes(kBackground)) {
    all.push_back(
        {{"name", process.name}, {"resident_bytes", process.resident_bytes}, {"cpu_seconds", process.cpu_seconds}});
  }
  return all;
}

json environment() {
  auto all = json::object();
  for (const auto& [name, value] : telling_variables()) all[name] = value;
  return all;
}

}  // namespace

json to_json(const ThermalState& thermal) {
  return {{"celsius", or_null(thermal.celsius)},
          {"speed_limit", or_null(thermal.speed_limit)},
          {"text", text_or_null(thermal.text)}};
}

json to_json(const std::vector<CacheMount>& mounts) {
  auto all = json::array();
  for (const CacheMount& mount : mounts) {
    all.push_back({{"name", mount.name},
                   {"path", mount.path.string()},
                   {"type", text_or_null(mount.type)},
                   {"network", mount.network}});
  }
  return all;
}

json conditions_now() {
  const Platform& platform = Platform::here();
  const PowerState power = platform.power();
  const auto swap = platform.swap();
  return {{"swap", swap ? json{{"total_bytes", swap->total_bytes}, {"used_bytes", swap->used_bytes}} : json()},
          {"thermal", to_json(platform.thermal())},
          {"load", or_null(platform.load())},
          {"memory_free_bytes", or_null(platform.memory_free())},
          {"power_adapter", or_null(power.on_mains)},
          {"low_power_mode", or_null(power.low_power_mode)},
          {"battery_share", or_null(power.battery_share)}};
}

json circumstances(const CircumstanceOptions& options) {
  json facts = conditions_now();
  const GitState git = git_state_here();
  const char* fallback = std::getenv("PYTORCH_ENABLE_MPS_FALLBACK");
  facts.update({{"machine", to_json(Machine::here())},
                {"container", text_or_null(Platform::here().container())},
                {"commit", text_or_null(git.commit)},
                {"dirty", git.commit.empty() ? json() : json(git.dirty)},
                {"data_set", data_set(options.data)},
                {"background", background()},
                {"artifact_store", artifact_store(options.artifact_store)},
                {"cache_mounts", to_json(cache_mounts())},
                {"environment", environment()},
                {"fallback", fallback != nullptr && std::string_view(fallback) == "1"},
                {"resolution", text_or_null(options.resolution)},
                {"owner", text_or_null(options.owner)}});
  return facts;
}

}  // namespace anymps::lab
