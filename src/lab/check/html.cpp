#include "lab/check/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "lab/base/counted.h"
#include "lab/base/units.h"
#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/trace/run_screen.h"

namespace anymps::lab::check {
namespace {

constexpr std::string_view kCheckStyle =
#include "assets/check.css.inc"
    ;

constexpr std::string_view kCheckScript =
#include "assets/check.js.inc"
    ;

constexpr std::array kSeverities = {Severity::kError, Severity::kWarning, Severity::kNote};

const char* verdict_class(const CheckReport& report) {
  if (report.command_failed() || report.has_failures()) return "bad";
  return report.findings.empty() && report.device_used ? "fits" : "close";
}

std::string plural_title(Severity severity, std::size_t number) {
  return fmt::format("{}{}", severity_name(severity), number == 1 ? "" : "s");
}

std::string memory_part(const CheckMemory& memory) {
  if (memory.limit_bytes == 0) return {};
  const auto limit = static_cast<double>(memory.limit_bytes);
  const double share = static_cast<double>(memory.block_bytes) / limit;
  const double recommended = static_cast<double>(memory.recommended_bytes) / limit;
  const std::string label = fmt::format(
      "{} of the limit of {}{}", base::human_bytes(memory.block_bytes), base::human_bytes(memory.limit_bytes),
      memory.recommended_bytes != 0
          ? fmt::format("; the tick is at the {} that Metal recommends", base::human_bytes(memory.recommended_bytes))
          : "");
  const char* kind = share > 1 ? "bad" : share > std::max(recommended, 0.5) ? "close" : "fits";
  return fmt::format("<h2>Memory</h2>\n<div class=\"{}\">{}</div>\n<p class=\"dim\">{}</p>\n", kind,
                     html::bar(share, recommended, label), html::escaped(label));
}

// How many characters of white space all lines begin with that are not empty.
std::size_t common_indentation(const std::vector<trace::SourceLine>& lines) {
  std::size_t common = std::string::npos;
  for (const trace::SourceLine& line : lines) common = std::min(common, line.text.find_first_not_of(" \t"));
  return common;
}

// Without the indentation that all of it has: a phone's screen has no room for that.
std::string excerpt(const trace::SourceSite& site, trace::SourceLines& sources) {
  std::string text;
  const std::vector<trace::SourceLine> lines = sources.at(site, 1);
  const std::size_t indentation = common_indentation(lines);
  for (const trace::SourceLine& line : lines) {
    const bool is_it = line.number == site.line;
    const std::string code = line.text.substr(std::min(indentation, line.text.size()));
    const std::string row = fmt::format("{} {:>4}  {}", is_it ? "→" : " ", line.number, html::escaped(code));
    text += is_it ? "<b>" + row + "</b>\n" : row + "\n";
  }
  return text.empty() ? "" : "<pre>" + text + "</pre>";
}

std::string finding_html(const Finding& finding, trace::SourceLines& sources) {
  std::string item = fmt::format("<li><code>{}</code>",
                                 html::escaped(finding.site.file.empty() ? "the whole run" : finding.site.text()));
  if (finding.count > 1) item += fmt::format(" <span class=\"dim\">{}×</span>", finding.count);
  if (const std::string total = in_unit(finding.rule->unit, finding.total); !total.empty()) {
    item += fmt::format(" <span class=\"dim\">{}</span>", html::escaped(total));
  }
  if (!finding.subject.empty()) item += fmt::format(" <code>{}</code>", html::escaped(finding.subject));
  if (!finding.detail.empty()) item += fmt::format(" <span class=\"dim\">{}</span>", html::escaped(finding.detail));
  return item + excerpt(finding.site, sources) + "</li>\n";
}

std::string rule_part(const RuleFindings& group, trace::SourceLines& sources) {
  std::string part = fmt::format(
      "<section class=\"rule {0}\" id=\"{4}\" data-severity=\"{0}\">\n<h2><span class=\"badge\">{0}</span> "
      "{1}</h2>\n<p>{2}</p>\n"
      "<p><b>Do:</b> {3}</p>\n<p class=\"dim\">{4}</p>\n<ul>\n",
      severity_name(group.severity), html::escaped(group.rule->title), html::escaped(group.rule->why),
      html::escaped(group.rule->remedy), group.rule->id);
  for (const Finding* finding : group.findings) part += finding_html(*finding, sources);
  return part + "</ul>\n</section>\n";
}

// Whose limits and rules these were, and when they were applied.
std::string circumstances_part(const CheckReport& report) {
  const auto fact = [&report](const char* key) {
    const auto found = report.run.facts.find(key);
    return found != report.run.facts.end() ? found->second : std::string();
  };
  std::string text = report.run.processes != 0 ? trace::device_text(report.run) + "; " : "";
  if (const std::string mac = fact("mac"); !mac.empty()) text += mac + " simulated; ";
  if (const std::string macos = fact("macos"); !macos.empty()) text += "macOS " + macos + "; ";
  if (const std::string torch = fact("as torch"); !torch.empty()) text += "rules of PyTorch " + torch + "; ";
  if (report.upgrade) text += report.upgrade_text() + "; ";
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return fmt::format("<p class=\"dim\">{}reported <time>{}</time></p>\n", html::escaped(text), date.data());
}

// A link to each rule that found something.
std::string rules_part(const CheckReport& report) {
  std::string part = "<ul class=\"rules\">\n";
  for (const RuleFindings& group : by_rule(report)) {
    part += fmt::format("<li class=\"{0}\"><a href=\"#{1}\">{1}</a> <span class=\"badge\">{0}</span> {2}, {3}</li>\n",
                        severity_name(group.severity), group.rule->id, html::escaped(group.rule->title),
                        base::counted(group.findings.size(), "place"));
  }
  return part + "</ul>\n";
}

std::string filter_part(const CheckReport& report) {
  std::string part =
      "<div class=\"filter\" role=\"group\" aria-label=\"Show findings\"><button type=\"button\" data-severity=\"all\" "
      "aria-pressed=\"true\">all</button>";
  for (const Severity severity : kSeverities) {
    part += fmt::format("<button type=\"button\" data-severity=\"{}\" aria-pressed=\"false\">{}</button>",
                        severity_name(severity), plural_title(severity, report.count(severity)));
  }
  return part + "</div>\n";
}

}  // namespace

std::string check_html(const CheckReport& report) {
  std::string html = html::page_head("anymps check", kCheckStyle);
  html += fmt::format("<main>\n<h1>Is it ready for a Mac?</h1>\n<code>{}</code>\n",
                      html::escaped(trace::command_text(report.run)));
  html += fmt::format("<p class=\"verdict {}\">{}</p>\n", verdict_class(report), html::escaped(report.verdict()));
  html += circumstances_part(report);
  html += "<div class=\"cards\">\n";
  for (const Severity severity : kSeverities) {
    const std::size_t number = report.count(severity);
    html += html::card(std::to_string(number), plural_title(severity, number));
  }
  html += html::card(base::human_bytes(report.memory.block_bytes), "peak of tensors and temporaries");
  html += html::card(base::human_bytes(report.memory.driver_bytes), "peak held from the driver");
  html += "</div>\n" + memory_part(report.memory);
  if (!report.findings.empty()) html += "<h2>Findings</h2>\n" + rules_part(report) + filter_part(report);
  trace::SourceLines sources;
  for (const RuleFindings& group : by_rule(report)) html += rule_part(group, sources);
  if (!report.run.caveats.empty()) {
    html += "<h2>What this leaves out</h2>\n<ul>\n";
    for (const std::string& caveat : report.run.caveats) html += "<li>" + html::escaped(caveat) + "</li>\n";
    html += "</ul>\n";
  }
  const std::string script = report.findings.empty() ? "" : fmt::format("<script>{}</script>\n", kCheckScript);
  return html + "</main>\n" + script + "</body></html>\n";
}

}  // namespace anymps::lab::check
