#include "lab/metal_screen.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace anymps::lab {
namespace {

std::string text_at(const nlohmann::json& object, const char* key) {
  return on_one_line(object.at(key).get_ref<const std::string&>());
}

std::string space_name(unsigned space) {
  switch (space) {
    case 1:
      return "device";
    case 2:
      return "constant";
    default:
      return "threadgroup";
  }
}

std::string argument_bytes(const nlohmann::json& argument) {
  const auto size = argument.at("size").get<std::size_t>();
  const auto least = argument.at("buffer_size").get<std::size_t>();
  if (size == 0) return "any size";
  return fmt::format("{} bytes{}", size, least != 0 ? "" : " each");
}

std::string argument_line(const nlohmann::json& argument) {
  std::string notes;
  if (argument.at("unused").get<bool>()) notes += ", unused";
  if (argument.contains("function_constant")) notes += ", if " + text_at(argument, "function_constant");
  const std::string what = text_at(argument, "name") + ": " + text_at(argument, "type") + notes;
  if (!argument.contains("binding")) return fmt::format("    {:<61}  {}\n", text_at(argument, "kind"), what);
  const auto count = argument.at("count").get<unsigned>();
  const auto binding = argument.at("binding").get<unsigned>();
  const std::string place =
      count == 1 ? fmt::format("{}", binding) : fmt::format("{}-{}", binding, binding + count - 1);
  return fmt::format("    {:<18} {:>3}  {:<10} {:<11}{:>15}  {}\n", text_at(argument, "kind"), place,
                     text_at(argument, "access"), space_name(argument.at("address_space").get<unsigned>()),
                     argument_bytes(argument), what);
}

std::string limits_of(const nlohmann::json& function) {
  std::string text;
  if (const auto bytes = function.at("threadgroup_bytes").get<std::size_t>(); bytes != 0) {
    text += fmt::format("    {} bytes of threadgroup memory\n", bytes);
  }
  if (const auto& most = function.at("max_total_threads"); !most.is_null()) {
    text += fmt::format("    at most {} threads in a threadgroup\n", most.get<unsigned>());
  }
  for (const auto& constant : function.at("function_constants")) {
    text += fmt::format("    function constant {:>5}  {}: {}{}\n", constant.at("id").get<unsigned>(),
                        text_at(constant, "name"), text_at(constant, "type"),
                        constant.at("required").get<bool>() ? "" : ", optional");
  }
  return text;
}

std::string function_block(const nlohmann::json& function, const Terminal& terminal) {
  const std::string name = text_at(function, "name");
  std::string text = fmt::format("{}  {}, Metal {}, AIR {}\n", terminal.colour ? "\x1b[1m" + name + "\x1b[0m" : name,
                                 text_at(function, "type"), text_at(function, "metal"), text_at(function, "air"));
  if (function.contains("error")) return text + "    refused: " + text_at(function, "error") + "\n";
  if (!function.contains("arguments")) return text;
  for (const auto& argument : function.at("arguments")) text += argument_line(argument);
  return text + limits_of(function);
}

}  // namespace

std::string on_one_line(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

std::string metal_screen(const nlohmann::json& library, const Terminal& terminal) {
  std::string text;
  for (const auto& function : library.at("functions")) text += function_block(function, terminal);
  return text;
}

}  // namespace anymps::lab
