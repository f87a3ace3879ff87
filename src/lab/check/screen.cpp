#include "lab/check/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"
#include "lab/trace/run_screen.h"

namespace anymps::lab::check {
namespace {

constexpr std::size_t kNarrowestCheck = 40;
constexpr std::size_t kWidestCheck = 110;
constexpr std::size_t kPlacesShown = 10;
constexpr std::string_view kHeadLabel = "anymps check: ";
constexpr std::string_view kRuleIndent = "  ";
constexpr std::string_view kPlaceIndent = "    ";
constexpr std::string_view kSourceIndent = "      ";

std::string_view severity_colour(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return base::kRed;
    case Severity::kWarning:
      return base::kYellow;
    default:
      return "36";
  }
}

class CheckScreen {
 public:
  explicit CheckScreen(const base::Terminal& terminal)
      : terminal_(terminal), width_(std::clamp(terminal.width, kNarrowestCheck, kWidestCheck)) {}

  void head(const CheckReport& report) {
    const std::string_view colour = report.command_failed() || report.has_failures() ? base::kRed
                                    : report.run.processes == 0 || !report.device_used || !report.findings.empty()
                                        ? base::kYellow
                                        : base::kGreen;
    const std::string line = base::fitted(fmt::format("{}{}", kHeadLabel, report.verdict()), kRuleIndent, terminal_);
    text_ +=
        terminal_.paint(base::kBold, kHeadLabel) +
        terminal_.paint(colour, std::string_view(line).substr(kHeadLabel.size(), line.size() - kHeadLabel.size() - 1)) +
        "\n";
    if (!report.run.command.empty()) labelled("command", trace::command_text(report.run));
    if (report.run.status != 0 || report.run.seconds > 0) labelled("ended", trace::ended_text(report.run));
    if (report.run.processes == 0) return;
    labelled("device", trace::device_text(report.run));
    if (report.device_used) labelled("memory", memory_text(report.memory));
    if (report.upgrade) labelled("upgrade", report.upgrade_text());
  }

  void rule(const RuleFindings& group, trace::SourceLines& sources) {
    title(group);
    paragraph(kRuleIndent, group.rule->why);
    paragraph(kRuleIndent, fmt::format("Do: {}", group.rule->remedy));
    const std::size_t shown = std::min(group.findings.size(), kPlacesShown);
    for (std::size_t i = 0; i < shown; ++i) place(*group.findings[i], sources);
    if (shown < group.findings.size()) {
      text_ += terminal_.paint(base::kDim, fmt::format("    and {} more places\n", group.findings.size() - shown));
    }
  }

  void caution(std::string_view caveat) {
    text_ += terminal_.paint(base::kYellow, "caution") + " " + base::wrapped(caveat, width_, "        ", terminal_);
  }

  void line_break() { text_ += "\n"; }
  std::string take() { return std::move(text_); }

 private:
  static std::string memory_text(const CheckMemory& memory) {
    std::string text = fmt::format("peak {} in tensors and temporaries, {} held from the driver",
                                   base::human_bytes(memory.block_bytes), base::human_bytes(memory.driver_bytes));
    if (memory.recommended_bytes != 0)
      text += fmt::format("; {} recommended", base::human_bytes(memory.recommended_bytes));
    if (memory.limit_bytes != 0) text += fmt::format(", limit {}", base::human_bytes(memory.limit_bytes));
    return text;
  }

  void labelled(std::string_view label, std::string_view text) {
    text_ += terminal_.paint(base::kDim, fmt::format("{:<10}", label)) +
             base::wrapped(text, width_, "          ", terminal_);
  }

  void paragraph(std::string_view indent, std::string_view text) {
    text_ += std::string(indent) + base::wrapped(text, width_, indent, terminal_);
  }

  // The severity and the rule are words of the first line, however narrow it is.
  void title(const RuleFindings& group) {
    const std::string_view severity = severity_name(group.severity);
    const std::string_view id = group.rule->id;
    const std::string line =
        base::fitted(fmt::format("{} {}: {}", severity, id, group.rule->title), kRuleIndent, terminal_);
    text_ += "\n" + terminal_.paint(severity_colour(group.severity), severity) + " " +
             terminal_.paint(base::kBold, id) + line.substr(severity.size() + 1 + id.size());
  }

  // Where it is and what of it: on one line where both fit.
  void head_of(const Finding& finding, std::string_view rest) {
    const std::string site = finding.site.file.empty() ? "(the whole run)" : finding.site.text();
    const bool together = base::length_of(site) + 2 + base::length_of(rest) <= terminal_.room(kPlaceIndent.size());
    text_ += std::string(kPlaceIndent) +
             terminal_.paint(base::kBold, base::keep_ends(site, terminal_.room(kPlaceIndent.size())));
    if (rest.empty()) {
      text_ += "\n";
    } else if (together) {
      text_ += fmt::format("  {}\n", rest);
    } else {
      text_ += "\n" + base::fitted_line(kSourceIndent, rest, terminal_);
    }
  }

  void place(const Finding& finding, trace::SourceLines& sources) {
    std::vector<std::string> parts;
    if (finding.count > 1) parts.push_back(fmt::format("{}×", finding.count));
    if (const std::string total = in_unit(finding.rule->unit, finding.total); !total.empty()) parts.push_back(total);
    if (!finding.subject.empty()) parts.push_back(finding.subject);
    head_of(finding, fmt::format("{}", fmt::join(parts, "  ")));
    for (const trace::SourceLine& line : sources.at(finding.site)) {
      const std::size_t begin = std::min(line.text.find_first_not_of(' '), line.text.size());
      const std::string quoted = base::keep_start(line.text.substr(begin), terminal_.room(kSourceIndent.size()));
      text_ += terminal_.paint(base::kDim, fmt::format("{}{}", kSourceIndent, quoted)) + "\n";
    }
    if (!finding.detail.empty()) paragraph(kSourceIndent, finding.detail);
  }

  const base::Terminal& terminal_;
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string check_screen(const CheckReport& report, const base::Terminal& terminal) {
  CheckScreen screen(terminal);
  screen.head(report);
  trace::SourceLines sources;
  for (const RuleFindings& group : by_rule(report)) screen.rule(group, sources);
  if (!report.run.caveats.empty()) screen.line_break();
  for (const std::string& caveat : report.run.caveats) screen.caution(caveat);
  return screen.take();
}

}  // namespace anymps::lab::check
