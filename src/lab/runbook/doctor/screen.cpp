#include "lab/runbook/doctor/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "lab/base/text_wrap.h"

namespace anymps::lab::runbook::doctor {
namespace {

constexpr std::size_t kGateIndent = 33;
constexpr std::size_t kNarrowGateIndent = 7;
constexpr std::size_t kWidestDoctor = 120;

std::string_view colour_of(GateState state) {
  switch (state) {
    case GateState::kRed:
      return base::kRed;
    case GateState::kYellow:
      return base::kYellow;
    default:
      return base::kGreen;
  }
}

std::string gate_text(const Gate& gate, const base::Terminal& terminal) {
  const std::size_t width = std::clamp<std::size_t>(terminal.width, 40, kWidestDoctor);
  const std::string indent(kGateIndent, ' ');
  // In a narrow terminal there is no room for sentences beside the names.
  const std::string below(terminal.width < 80 ? kNarrowGateIndent : kGateIndent, ' ');
  const std::string text = terminal.paint(colour_of(gate.state), fmt::format("{:<7}", document::word_of(gate.state))) +
                           fmt::format("{:<{}}", gate.name, kGateIndent - 7) +
                           base::wrapped(gate.value, width, indent, terminal);
  if (gate.state == GateState::kGreen) return text;
  return text + below + base::wrapped(gate.why, width, below, terminal) + below +
         terminal.paint(base::kBold, "remedy: ") + base::wrapped(gate.remedy, width - 8, below, terminal);
}

}  // namespace

std::string doctor_screen(const DoctorDocument& document, const base::Terminal& terminal) {
  std::map<GateState, int> counts;
  std::string text;
  for (const Gate& gate : document.gates) {
    ++counts[gate.state];
    text += gate_text(gate, terminal);
  }
  const bool bad = document.head.verdict == document::Verdict::kBad;
  const std::string_view verdict = bad ? "not ready" : "ready";
  const std::string line =
      base::fitted(fmt::format("{}: {} green, {} yellow, {} red{}; run {} of the logbook", verdict,
                               counts[GateState::kGreen], counts[GateState::kYellow], counts[GateState::kRed],
                               document.strict ? " (strict: yellow counts as red)" : "", document.head.run),
                   "  ", terminal);
  return text + "\n" + terminal.paint(bad ? base::kRed : base::kGreen, verdict) + line.substr(verdict.size());
}

}  // namespace anymps::lab::runbook::doctor
