#include "lab/metallib/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/base/safe_text.h"
#include "lab/base/text_wrap.h"

namespace anymps::lab::metallib {
namespace {

constexpr std::string_view kFactIndent = "    ";
constexpr std::string_view kWhatIndent = "        ";

std::string text_at(const nlohmann::json& object, const char* key) {
  return base::on_one_line(object.at(key).get_ref<const std::string&>());
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

std::string argument_what(const nlohmann::json& argument) {
  std::string notes;
  if (argument.at("unused").get<bool>()) notes += ", unused";
  if (argument.contains("function_constant")) notes += ", if " + text_at(argument, "function_constant");
  return text_at(argument, "name") + ": " + text_at(argument, "type") + notes;
}

// "3", or "3-6" for an array.
std::string argument_place(const nlohmann::json& argument) {
  const auto count = argument.at("count").get<unsigned>();
  const auto binding = argument.at("binding").get<unsigned>();
  return count == 1 ? fmt::format("{}", binding) : fmt::format("{}-{}", binding, binding + count - 1);
}

std::string argument_line(const nlohmann::json& argument) {
  const std::string what = argument_what(argument);
  if (!argument.contains("binding")) return fmt::format("    {:<61}  {}\n", text_at(argument, "kind"), what);
  return fmt::format("    {:<18} {:>3}  {:<10} {:<11}{:>15}  {}\n", text_at(argument, "kind"), argument_place(argument),
                     text_at(argument, "access"), space_name(argument.at("address_space").get<unsigned>()),
                     argument_bytes(argument), what);
}

// For a narrow terminal: what kind of argument, and below it what it is called.
std::string argument_lines(const nlohmann::json& argument, const base::Terminal& terminal) {
  std::string kind = text_at(argument, "kind");
  if (argument.contains("binding")) {
    kind += fmt::format(" {}, {}, {}, {}", argument_place(argument), text_at(argument, "access"),
                        space_name(argument.at("address_space").get<unsigned>()), argument_bytes(argument));
  }
  return base::fitted_line(kFactIndent, kind, terminal) +
         base::fitted_line(kWhatIndent, argument_what(argument), terminal);
}

// All of a function in the same form.
std::string arguments_of(const nlohmann::json& function, const base::Terminal& terminal) {
  std::vector<std::string> lines;
  std::ranges::transform(function.at("arguments"), std::back_inserter(lines), argument_line);
  const auto fits = [&](const std::string& line) { return base::length_of(line) - 1 <= terminal.room(); };
  const bool narrow = !std::ranges::all_of(lines, fits);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += narrow ? argument_lines(function.at("arguments")[i], terminal) : lines[i];
  }
  return text;
}

std::string limits_of(const nlohmann::json& function, const base::Terminal& terminal) {
  std::string text;
  if (const auto bytes = function.at("threadgroup_bytes").get<std::size_t>(); bytes != 0) {
    text += fmt::format("    {} bytes of threadgroup memory\n", bytes);
  }
  if (const auto& most = function.at("max_total_threads"); !most.is_null()) {
    text += fmt::format("    at most {} threads in a threadgroup\n", most.get<unsigned>());
  }
  for (const auto& constant : function.at("function_constants")) {
    text += base::fitted_line(
        kFactIndent,
        fmt::format("function constant {:>5}  {}: {}{}", constant.at("id").get<unsigned>(), text_at(constant, "name"),
                    text_at(constant, "type"), constant.at("required").get<bool>() ? "" : ", optional"),
        terminal);
  }
  return text;
}

std::string function_head(const nlohmann::json& function, const base::Terminal& terminal) {
  const std::string name = base::keep_ends(text_at(function, "name"), terminal.room());
  const std::string made = fmt::format("{}, Metal {}, AIR {}", text_at(function, "type"), text_at(function, "metal"),
                                       text_at(function, "air"));
  const bool together = base::length_of(name) + 2 + base::length_of(made) <= terminal.room();
  return terminal.paint(base::kBold, name) +
         (together ? fmt::format("  {}\n", made) : "\n" + base::fitted_line(kFactIndent, made, terminal));
}

std::string function_block(const nlohmann::json& function, const base::Terminal& terminal) {
  std::string text = function_head(function, terminal);
  if (function.contains("error"))
    return text + base::fitted_line(kFactIndent, "refused: " + text_at(function, "error"), terminal);
  if (!function.contains("arguments")) return text;
  return text + arguments_of(function, terminal) + limits_of(function, terminal);
}

}  // namespace

std::string metal_screen(const nlohmann::json& library, const base::Terminal& terminal) {
  std::string text;
  for (const auto& function : library.at("functions")) text += function_block(function, terminal);
  return text;
}

}  // namespace anymps::lab::metallib
