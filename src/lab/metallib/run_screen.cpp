#include "lab/metallib/run_screen.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/base/safe_text.h"
#include "lab/base/text_wrap.h"
#include "lab/metallib/screen.h"

namespace anymps::lab::metallib {
namespace {

constexpr std::string_view kValuesIndent = "    ";

// As many digits as tell a value of the type from its neighbours.
std::string element_text(const nlohmann::json& value, std::string_view type) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  const auto number = value.get<double>();
  if (type.find("bfloat") != std::string_view::npos) return fmt::format("{:.4g}", number);
  if (type.find("half") != std::string_view::npos) return fmt::format("{:.5g}", number);
  return fmt::format("{}", static_cast<float>(number));
}

std::string values_of(const nlohmann::json& output) {
  const auto type = output.at("type").get<std::string>();
  const auto width = output.at("width").get<std::size_t>();
  const auto& values = output.at("values");
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ' ';
    if (width > 1 && i % width == 0) text += '(';
    text += element_text(values[i], type);
    if (width > 1 && i % width == width - 1) text += ')';
  }
  if (values.size() < output.at("count").get<std::size_t>() * width) text += " ...";
  return text;
}

std::string output_block(const nlohmann::json& output, const base::Terminal& terminal) {
  std::string text = fmt::format("  {} {}: {} x {}", output.at("binding").get<unsigned>(),
                                 base::on_one_line(output.at("name").get<std::string>()),
                                 output.at("count").get<std::size_t>(), output.at("type").get<std::string>());
  if (output.contains("file")) return text + " -> " + base::on_one_line(output.at("file").get<std::string>()) + "\n";
  return text + "\n" + std::string(kValuesIndent) + base::wrapped(values_of(output), terminal.width, kValuesIndent);
}

std::string run_extent(const nlohmann::json& size) {
  return fmt::format("{} x {} x {}", size[0].get<unsigned>(), size[1].get<unsigned>(), size[2].get<unsigned>());
}

}  // namespace

std::string report_texts(const nlohmann::json& reports) {
  std::string text;
  for (const auto& report : reports) {
    std::istringstream lines(report.at("text").get<std::string>());
    for (std::string line; std::getline(lines, line);) text += base::on_one_line(line) + "\n";
  }
  return text;
}

std::string metal_run_screen(const nlohmann::json& run, const base::Terminal& terminal) {
  std::string text =
      fmt::format("{}  {} threads in threadgroups of {}, {}\n", base::on_one_line(run.at("kernel").get<std::string>()),
                  run_extent(run.at("threads")), run_extent(run.at("group")),
                  run.at("validated").get<bool>() ? "validated" : run.at("route").get<std::string>());
  for (const auto& output : run.at("outputs")) text += output_block(output, terminal);
  if (const auto& time = run.at("median_ms"); !time.is_null()) {
    text += fmt::format("  {:.4g} ms in the median of {} launches; compiled or found in the cache in {:.0f} ms\n",
                        time.get<double>(), run.at("launches").get<std::size_t>(), run.at("compile_ms").get<double>());
  }
  return text + report_texts(run.at("reports"));
}

}  // namespace anymps::lab::metallib
