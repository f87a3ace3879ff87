#include "lab/metallib/check.h"

#include <fmt/format.h>

#include <sstream>

#include "lab/base/counted.h"
#include "lab/base/safe_text.h"
#include "lab/metallib/batches.h"
#include "lab/metallib/library_file.h"
#include "lab/metallib/reader.h"
#include "lab/metallib/screen.h"

namespace anymps::lab::metallib {
namespace {

constexpr std::size_t kCheckedPerChild = 10;

void add_checked_kernel(MetalCheck& result, nlohmann::json kernel) {
  if (kernel.contains("refusal")) {
    ++result.refusals;
  } else {
    for (const auto& finding : kernel.at("findings")) {
      ++(finding.at("severity") == "error" ? result.errors : result.warnings);
    }
    result.not_tried += kernel.at("not_tried").is_null() ? 0 : 1;
  }
  result.kernels.push_back(std::move(kernel));
}

// The first line as it is, the others below it.
std::string indented(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!result.empty()) line = "    " + line.substr(std::min(line.find_first_not_of(' '), line.size()));
    result += base::on_one_line(line) + "\n";
  }
  return result;
}

std::string kernel_lines(const MetalCheck& check, const nlohmann::json& kernel) {
  const std::string name = kernel.at("name");
  const std::string where = base::on_one_line(check.file + ": " + name + ": ");
  if (kernel.contains("refusal")) return where + "refused: " + indented(kernel.at("refusal"));
  std::string text;
  for (const auto& finding : kernel.at("findings")) {
    const std::string place = finding.at("place");
    text += where + (place.empty() ? "" : base::on_one_line(place) + ": ") + finding.at("severity").get<std::string>() +
            ": " + finding.at("check").get<std::string>() + ": " + indented(finding.at("text"));
  }
  if (const auto& why = kernel.at("not_tried"); !why.is_null()) {
    text += where + "not launched: " + indented(why.get<std::string>());
  }
  return text;
}

}  // namespace

MetalCheck check_metal(const std::string& source, const std::vector<std::string>& flags,
                       const std::function<void(std::size_t done, std::size_t of)>& progress) {
  MetalCheck result;
  result.file = source;
  const MetalLibraryFile opened(source, flags);
  result.problem = opened.problem();
  if (result.problem) return result;
  result.compiler_warnings = opened.warnings();
  const std::string& file = opened.path();
  const MetalAnswer listed = ask_metal({"list", file});
  if (!listed.answered) {
    result.problem = listed;
    return result;
  }
  const auto library = nlohmann::json::parse(listed.text);
  const auto& functions = library.at("functions");
  std::string why;
  const auto take = [&](std::size_t first, std::size_t count) {
    const MetalAnswer answer = ask_metal({"check", file, std::to_string(first), std::to_string(count)});
    result.interrupted = answer.interrupted;
    why = answer.text;
    if (!answer.answered) return false;
    auto found = nlohmann::json::parse(answer.text);
    for (auto& kernel : found.at("kernels")) add_checked_kernel(result, std::move(kernel));
    return true;
  };
  go_through(
      {.functions = functions.size(),
       .per_child = kCheckedPerChild,
       .take = take,
       .refuse =
           [&](std::size_t i) { add_checked_kernel(result, {{"name", functions[i].at("name")}, {"refusal", why}}); },
       .interrupted = [&] { return result.interrupted; },
       .progress = progress});
  return result;
}

nlohmann::json to_json(const MetalCheck& check) {
  return {{"file", check.file},
          {"kernels", check.kernels},
          {"errors", check.errors},
          {"warnings", check.warnings},
          {"refusals", check.refusals},
          {"not_tried", check.not_tried},
          {"compiler_warnings", check.compiler_warnings},
          {"interrupted", check.interrupted}};
}

std::string to_text(const MetalCheck& check) {
  std::string text;
  for (const auto& kernel : check.kernels) text += kernel_lines(check, kernel);
  text += fmt::format("{}: {}: {}, {}, {} refused, {} not launched\n", base::on_one_line(check.file),
                      base::counted(check.kernels.size(), "kernel"), base::counted(check.errors, "error"),
                      base::counted(check.warnings, "warning"), check.refusals, check.not_tried);
  if (check.interrupted) text += "interrupted: the rest was not looked at\n";
  return text;
}

}  // namespace anymps::lab::metallib
