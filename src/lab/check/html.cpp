#include "lab/check_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "lab/counted.h"
#include "lab/html_page.h"
#include "lab/markup.h"
#include "lab/summary_screen.h"

namespace anymps::lab {
namespace {

constexpr const char* kCheckStyle = R"css(
.card { min-width: 6rem; } .verdict { font-weight: 600; margin: .75rem 0; } .verdict.bad { color: var(--bad); }
.verdict.fits { color: var(--fits); } .verdict.close { color: var(--close); }
.filter { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; }
.filter button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 1rem;
  padding: .2rem .8rem; cursor: pointer; } .filter button[aria-pressed=true] { background: var(--track); font-weight: 600; }
.rule { border: 1px solid var(--line); border-left: .3rem solid var(--dim); border-radius: .4rem; padding: .6rem .9rem;
  margin: 1rem 0; } .rule h2 { margin: 0 0 .3rem; } .rule p { margin: .2rem 0; max-width: 52rem; }
.rule.error { border-left-color: var(--bad); } .rule.warning { border-left-color: var(--close); }
.rule ul { list-style: none; padding: 0; margin: .6rem 0 0; } .rule li { max-width: none; }
.badge { font-size: .8rem; text-transform: uppercase; letter-spacing: .03em; color: var(--dim); }
.error .badge { color: var(--bad); } .warning .badge { color: var(--close); }
pre { margin: .3rem 0; padding: .4rem .6rem; background: var(--track); border-radius: .3rem; overflow-x: auto;
  font: 13px/1.4 ui-monospace, monospace; } pre b { color: var(--bad); font-weight: 600; }
[hidden] { display: none; }
)css";

constexpr const char* kScript = R"js(<script>
for (const button of document.querySelectorAll(".filter button")) {
  button.addEventListener("click", () => {
    const wanted = button.dataset.severity;
    for (const other of document.querySelectorAll(".filter button"))
      other.setAttribute("aria-pressed", String(other === button));
    for (const rule of document.querySelectorAll(".rule"))
      rule.hidden = wanted !== "all" && rule.dataset.severity !== wanted;
  });
}
</script>
)js";

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
      "{} of the limit of {}{}", human_bytes(memory.block_bytes), human_bytes(memory.limit_bytes),
      memory.recommended_bytes != 0
          ? fmt::format("; the tick is at the {} that Metal recommends", human_bytes(memory.recommended_bytes))
          : "");
  const char* kind = share > 1 ? "bad" : share > std::max(recommended, 0.5) ? "close" : "fits";
  return fmt::format("<h2>Memory</h2>\n<div class=\"{}\">{}</div>\n<p class=\"dim\">{}</p>\n", kind,
                     bar(share, recommended, label), escaped(label));
}

// How many characters of white space all lines begin with that are not empty.
std::size_t common_indentation(const std::vector<SourceLine>& lines) {
  std::size_t common = std::string::npos;
  for (const SourceLine& line : lines) common = std::min(common, line.text.find_first_not_of(" \t"));
  return common;
}

// Without the indentation that all of it has: a phone's screen has no room for that.
std::string excerpt(const SourceSite& site, SourceLines& sources) {
  std::string text;
  const std::vector<SourceLine> lines = sources.at(site, 1);
  const std::size_t indentation = common_indentation(lines);
  for (const SourceLine& line : lines) {
    const bool is_it = line.number == site.line;
    const std::string code = line.text.substr(std::min(indentation, line.text.size()));
    const std::string row = fmt::format("{} {:>4}  {}", is_it ? "→" : " ", line.number, escaped(code));
    text += is_it ? "<b>" + row + "</b>\n" : row + "\n";
  }
  return text.empty() ? "" : "<pre>" + text + "</pre>";
}

std::string finding_html(const Finding& finding, SourceLines& sources) {
  std::string item =
      fmt::format("<li><code>{}</code>", escaped(finding.site.file.empty() ? "the whole run" : finding.site.text()));
  if (finding.count > 1) item += fmt::format(" <span class=\"dim\">{}×</span>", finding.count);
  if (const std::string total = in_unit(finding.rule->unit, finding.total); !total.empty()) {
    item += fmt::format(" <span class=\"dim\">{}</span>", escaped(total));
  }
  if (!finding.subject.empty()) item += fmt::format(" <code>{}</code>", escaped(finding.subject));
  if (!finding.detail.empty()) item += fmt::format(" <span class=\"dim\">{}</span>", escaped(finding.detail));
  return item + excerpt(finding.site, sources) + "</li>\n";
}

std::string rule_part(const RuleFindings& group, SourceLines& sources) {
  std::string part = fmt::format(
      "<section class=\"rule {0}\" id=\"{4}\" data-severity=\"{0}\">\n<h2><span class=\"badge\">{0}</span> "
      "{1}</h2>\n<p>{2}</p>\n"
      "<p><b>Do:</b> {3}</p>\n<p class=\"dim\">{4}</p>\n<ul>\n",
      severity_name(group.severity), escaped(group.rule->title), escaped(group.rule->why), escaped(group.rule->remedy),
      group.rule->id);
  for (const Finding* finding : group.findings) part += finding_html(*finding, sources);
  return part + "</ul>\n</section>\n";
}

// Whose limits and rules these were, and when they were applied.
std::string circumstances_part(const CheckReport& report) {
  const auto fact = [&report](const char* key) {
    const auto found = report.run.facts.find(key);
    return found != report.run.facts.end() ? found->second : std::string();
  };
  std::string text = report.run.processes != 0 ? device_text(report.run) + "; " : "";
  if (const std::string mac = fact("mac"); !mac.empty()) text += mac + " simulated; ";
  if (const std::string macos = fact("macos"); !macos.empty()) text += "macOS " + macos + "; ";
  if (const std::string torch = fact("as torch"); !torch.empty()) text += "rules of PyTorch " + torch + "; ";
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return fmt::format("<p class=\"dim\">{}reported <time>{}</time></p>\n", escaped(text), date.data());
}

// A link to each rule that found something.
std::string rules_part(const CheckReport& report) {
  std::string part = "<ul class=\"rules\">\n";
  for (const RuleFindings& group : by_rule(report)) {
    part += fmt::format("<li class=\"{0}\"><a href=\"#{1}\">{1}</a> <span class=\"badge\">{0}</span> {2}, {3}</li>\n",
                        severity_name(group.severity), group.rule->id, escaped(group.rule->title),
                        counted(group.findings.size(), "place"));
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
  std::string html = page_head("anymps check", kCheckStyle);
  html += fmt::format("<main>\n<h1>Is it ready for a Mac?</h1>\n<code>{}</code>\n", escaped(command_text(report.run)));
  html += fmt::format("<p class=\"verdict {}\">{}</p>\n", verdict_class(report), escaped(report.verdict()));
  html += circumstances_part(report);
  html += "<div class=\"cards\">\n";
  for (const Severity severity : kSeverities) {
    const std::size_t number = report.count(severity);
    html += card(std::to_string(number), plural_title(severity, number));
  }
  html += card(human_bytes(report.memory.block_bytes), "peak of tensors and temporaries");
  html += card(human_bytes(report.memory.driver_bytes), "peak held from the driver");
  html += "</div>\n" + memory_part(report.memory);
  if (!report.findings.empty()) html += "<h2>Findings</h2>\n" + rules_part(report) + filter_part(report);
  SourceLines sources;
  for (const RuleFindings& group : by_rule(report)) html += rule_part(group, sources);
  if (!report.run.caveats.empty()) {
    html += "<h2>What this leaves out</h2>\n<ul>\n";
    for (const std::string& caveat : report.run.caveats) html += "<li>" + escaped(caveat) + "</li>\n";
    html += "</ul>\n";
  }
  return html + "</main>\n" + (report.findings.empty() ? "" : kScript) + "</body></html>\n";
}

}  // namespace anymps::lab
