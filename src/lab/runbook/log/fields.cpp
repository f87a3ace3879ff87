#include "lab/runbook/log/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/base/json_text.h"
#include "lab/base/units.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::log {
namespace {

using nlohmann::json;

constexpr std::array kFields = {
    LogField{"five-tuple", "torch", "torch", "/torch"},
    LogField{"five-tuple", "commit", "commit", "/commit"},
    LogField{"five-tuple", "dirty", "uncommitted changes", "/dirty", FieldKind::kFlag},
    LogField{"five-tuple", "batch", "batch", "/batch"},
    LogField{"five-tuple", "resolution", "resolution", "/resolution"},
    LogField{"five-tuple", "peak_bytes", "peak memory", "/peak_bytes", FieldKind::kBytes},
    LogField{"five-tuple", "fallback", "CPU fallback", "/fallback", FieldKind::kFlag},
    LogField{"circumstances", "data_path", "data set", "/data_set/path"},
    LogField{"circumstances", "data_sha256", "data-set checksum", "/data_set/sha256"},
    LogField{"circumstances", "background", "background apps", "/background", FieldKind::kApps},
    LogField{"circumstances", "power_adapter", "power adapter", "/power_adapter", FieldKind::kFlag},
    LogField{"circumstances", "low_power_mode", "low-power mode", "/low_power_mode", FieldKind::kFlag},
    LogField{"circumstances", "artifact_store", "artifact store", "/artifact_store/host"},
    LogField{"circumstances", "rtt_seconds", "RTT to it", "/artifact_store/rtt_seconds", FieldKind::kSeconds},
    LogField{"circumstances", "rtt_error", "why there is no RTT", "/artifact_store/error"},
    LogField{"circumstances", "cache_mounts", "cache mounts", "/cache_mounts", FieldKind::kMounts},
    LogField{"circumstances", "owner", "owner", "/owner"},
    LogField{"training", "device", "device", "/device"},
    LogField{"training", "workers", "loader workers", "/workers"},
    LogField{"training", "seed", "seed", "/seed"},
    LogField{"training", "worker_init", "worker initialisation", "/worker_init", FieldKind::kFlag},
    LogField{"training", "deterministic", "deterministic", "/deterministic", FieldKind::kFlag},
    LogField{"training", "amp", "AMP", "/amp", FieldKind::kFlag},
    LogField{"training", "checkpointing", "checkpointing", "/checkpointing", FieldKind::kFlag},
    LogField{"training", "accumulation", "accumulation", "/accumulation"},
    LogField{"training", "epoch_window", "epoch window", "/epoch_window"},
    LogField{"machine", "system", "system", "/machine/system"},
    LogField{"machine", "kernel", "kernel", "/machine/kernel"},
    LogField{"machine", "architecture", "architecture", "/machine/architecture"},
    LogField{"machine", "cpu", "processor", "/machine/cpu"},
    LogField{"machine", "cores", "cores", "/machine/cores"},
    LogField{"machine", "cores_allowed", "cores allowed", "/machine/cores_allowed"},
    LogField{"machine", "memory_bytes", "memory", "/machine/memory_bytes", FieldKind::kBytes},
    LogField{"machine", "memory_limit_bytes", "memory limit", "/machine/cgroup_limit_bytes", FieldKind::kBytes},
    LogField{"machine", "container", "container", "/container"},
    LogField{"machine", "python", "python", "/python"},
    LogField{"machine", "threads", "threads", "/threads"},
    LogField{"conditions", "speed_limit", "speed allowed", "/thermal/speed_limit", FieldKind::kShare},
    LogField{"conditions", "celsius", "temperature, °C", "/thermal/celsius"},
    LogField{"conditions", "thermal_text", "thermal state", "/thermal/text"},
    LogField{"conditions", "swap_used_bytes", "swap in use", "/swap/used_bytes", FieldKind::kBytes},
    LogField{"conditions", "load", "load", "/load"},
    LogField{"conditions", "memory_free_bytes", "memory free", "/memory_free_bytes", FieldKind::kBytes},
    LogField{"conditions", "battery_share", "battery", "/battery_share", FieldKind::kShare},
};

std::string apps_text(const json& apps) {
  std::string text;
  for (const json& app : apps) {
    text += fmt::format(
        "{}{} ({})", text.empty() ? "" : ", ", document::string_in(app, "name", "?"),
        base::human_bytes(static_cast<std::uint64_t>(document::number_in(app, "resident_bytes").value_or(0))));
  }
  return text.empty() ? "none" : text;
}

std::string mounts_text(const json& mounts) {
  std::string text;
  for (const json& mount : mounts) {
    text += fmt::format("{}{} on {}{}", text.empty() ? "" : ", ", document::string_in(mount, "name", "?"),
                        document::string_in(mount, "type", "an unknown mount"),
                        document::flag_in(mount, "network") ? " (network)" : "");
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::span<const LogField> log_fields() { return kFields; }

const LogField* field_at(std::string_view dotted) {
  std::string pointer = "/" + std::string(dotted);
  std::ranges::replace(pointer, '.', '/');
  const auto* const found = std::ranges::find(kFields, pointer, &LogField::pointer);
  return found == kFields.end() ? nullptr : found;
}

bool is_recorders_own(std::string_view fact) {
  return fact.ends_with("_ns") || fact.starts_with("loader.") || fact.starts_with("loader, ");
}

const LogField& log_field(std::string_view name) {
  return *std::ranges::find(kFields, name, [](const LogField& field) { return std::string_view(field.name); });
}

const json& value_of(const LogField& field, const json& facts) {
  static const json kNull;
  const json::json_pointer pointer(field.pointer);
  return facts.is_object() && facts.contains(pointer) ? facts.at(pointer) : kNull;
}

std::string text_of(const LogField& field, const json& facts) {
  const json& value = value_of(field, facts);
  if (value.is_null() || value == "") return "-";
  if (field.kind == FieldKind::kBytes && value.is_number()) {
    return base::human_bytes(static_cast<std::uint64_t>(std::max(0.0, value.get<double>())));
  }
  if (field.kind == FieldKind::kFlag && value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (field.kind == FieldKind::kShare && value.is_number()) return fmt::format("{:.0f}%", 100 * value.get<double>());
  if (field.kind == FieldKind::kSeconds && value.is_number()) return base::human_seconds(value.get<double>());
  if (field.kind == FieldKind::kApps && value.is_array()) return apps_text(value);
  if (field.kind == FieldKind::kMounts && value.is_array()) return mounts_text(value);
  return base::unquoted_json(value);
}

}  // namespace anymps::lab::runbook::log
