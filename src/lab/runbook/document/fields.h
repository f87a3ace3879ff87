// Fields of the runbook's documents, read without trusting them: they may come from a file, from another version, or
// from a run that could not find something out. What is not there, or of another kind, is empty.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace anymps::lab::runbook::document {

// What an object has by that name; null where it has none, or is no object.
const nlohmann::json& member(const nlohmann::json& object, std::string_view name);

std::optional<double> number_in(const nlohmann::json& object, std::string_view name);
bool flag_in(const nlohmann::json& object, std::string_view name);

// A string and nothing else, for what is compared or passed on.
std::string string_in(const nlohmann::json& object, std::string_view name, std::string_view otherwise = "");

// Anything, for people: strings as they are, "yes" and "no", numbers; lists of such with commas, all else as JSON.
std::string in_words(const nlohmann::json& value);
std::string words_in(const nlohmann::json& object, std::string_view name);

// The reference is to a part of `object`, or to something that lives on.
const nlohmann::json& list_in(const nlohmann::json& object, std::string_view name);
const nlohmann::json& object_in(const nlohmann::json& object, std::string_view name);

}  // namespace anymps::lab::runbook::document
