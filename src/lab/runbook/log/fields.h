// The fields of the logbook that reviewers want: what they are called, and where they stand among a run's facts.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace anymps::lab::runbook::log {

enum class FieldKind { kText, kBytes, kFlag, kShare, kSeconds, kApps, kMounts };

struct LogField {
  const char* group;    // "five-tuple", "circumstances", "training", "machine", "conditions"
  const char* name;     // of a column
  const char* label;    // for people
  const char* pointer;  // into the facts
  FieldKind kind = FieldKind::kText;
};

// Groups stand together.
std::span<const LogField> log_fields();

// By its name, which must be one of them.
const LogField& log_field(std::string_view name);

// The one of a fact's name with dots ("machine.memory_bytes"); null where it is none of them.
const LogField* field_at(std::string_view dotted);

// Moments and handles of the recorder's own, which tell a reader nothing. Parts of the name are joined by a dot or a
// comma.
bool is_recorders_own(std::string_view fact);

// Null where it was not recorded.
const nlohmann::json& value_of(const LogField& field, const nlohmann::json& facts);

// "-" where it was not recorded.
std::string text_of(const LogField& field, const nlohmann::json& facts);

}  // namespace anymps::lab::runbook::log
