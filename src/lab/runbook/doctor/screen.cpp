#include "lab/runbook/doctor/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/base/text_wrap.h"

namespace anymps::lab::runbook::doctor {
namespace {

using nlohmann::json;

constexpr std::size_t kGateIndent = 33;
constexpr std::size_t kNarrowGateIndent = 7;
constexpr std::size_t kWidestDoctor = 120;

// The colour of each state, as ECMA-48 has it.
const std::map<std::string, std::string_view> kColours = {{"green", "32"}, {"yellow", "33"}, {"red", "31"}};

}  // namespace

std::string doctor_screen(const json& document, const base::Terminal& terminal) {
  const std::size_t width = std::clamp<std::size_t>(terminal.width, 40, kWidestDoctor);
  const std::string indent(kGateIndent, ' ');
  // In a narrow terminal there is no room for sentences beside the names.
  const std::string below(terminal.width < 80 ? kNarrowGateIndent : kGateIndent, ' ');
  std::map<std::string, int> counts;
  std::string text;
  for (const json& gate : document.at("gates")) {
    const auto state = gate.at("state").get<std::string>();
    ++counts[state];
    text += terminal.paint(kColours.at(state), fmt::format("{:<7}", state));
    text += fmt::format("{:<{}}", gate.at("name").get<std::string>(), kGateIndent - 7);
    text += base::wrapped(gate.at("value").get<std::string>(), width, indent, terminal);
    if (state == "green") continue;
    text += below + base::wrapped(gate.at("why").get<std::string>(), width, below, terminal);
    text += below + terminal.paint("1", "remedy: ") +
            base::wrapped(gate.at("remedy").get<std::string>(), width - 8, below, terminal);
  }
  const bool bad = document.at("verdict") == "bad";
  const std::string_view verdict = bad ? "not ready" : "ready";
  const std::string line =
      base::fitted(fmt::format("{}: {} green, {} yellow, {} red{}; run {} of the logbook", verdict, counts["green"],
                               counts["yellow"], counts["red"],
                               document.at("strict").get<bool>() ? " (strict: yellow counts as red)" : "",
                               document.at("run").get<std::int64_t>()),
                   "  ", terminal);
  return text + "\n" + terminal.paint(bad ? "31" : "32", verdict) + line.substr(verdict.size());
}

}  // namespace anymps::lab::runbook::doctor
