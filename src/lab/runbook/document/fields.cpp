#include "lab/runbook/document/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/base/json_text.h"

namespace anymps::lab::runbook::document {
using nlohmann::json;

const json& member(const json& object, std::string_view name) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found != object.end() ? *found : none;
}

std::optional<double> number_in(const json& object, std::string_view name) {
  const json& value = member(object, name);
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

bool flag_in(const json& object, std::string_view name) { return member(object, name) == true; }

std::string string_in(const json& object, std::string_view name, std::string_view otherwise) {
  const json& found = member(object, name);
  return found.is_string() ? found.get<std::string>() : std::string(otherwise);
}

std::string in_words(const json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  const bool plain =
      value.is_array() && std::ranges::none_of(value, [](const json& one) { return one.is_structured(); });
  if (!plain) return base::json_line(value);
  std::string text;
  for (const json& one : value) text += (text.empty() ? "" : ", ") + in_words(one);
  return text;
}

std::string words_in(const json& object, std::string_view name) { return in_words(member(object, name)); }

const json& list_in(const json& object, std::string_view name) {
  static const json none = json::array();
  const json& value = member(object, name);
  return value.is_array() ? value : none;
}

const json& object_in(const json& object, std::string_view name) {
  static const json none = json::object();
  const json& value = member(object, name);
  return value.is_object() ? value : none;
}

}  // namespace anymps::lab::runbook::document
