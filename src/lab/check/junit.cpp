#include "lab/check/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lab/html/escape.h"
#include "lab/trace/run_screen.h"

namespace anymps::lab::check {
namespace {

struct Cases {
  std::string xml;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
};

std::string finding_lines(const std::vector<const Finding*>& findings) {
  std::string text;
  for (const Finding* finding : findings) {
    const std::string where = finding->site.file.empty() ? "" : finding->site.text() + ": ";
    text += fmt::format("{}{}: {}\n", where, severity_name(finding->severity), message_of(*finding));
  }
  return text;
}

void add_case(Cases& cases, std::string_view name, std::string_view content) {
  ++cases.tests;
  cases.xml += fmt::format("    <testcase classname=\"anymps.check\" name=\"{}\">{}</testcase>\n", name, content);
}

void add_command_case(Cases& cases, const CheckReport& report) {
  if (!report.command_failed()) return add_case(cases, "command", "");
  ++cases.errors;
  add_case(cases, "command",
           fmt::format("<error type=\"status\" message=\"{}\">{}</error>", html::escaped(trace::ended_text(report.run)),
                       html::escaped(trace::command_text(report.run))));
}

void add_rule(Cases& cases, const CheckReport& report, const CheckRule& rule) {
  std::vector<const Finding*> failing;
  std::vector<const Finding*> others;
  for (const Finding& finding : report.findings) {
    if (finding.rule == &rule) (report.fails(finding) ? failing : others).push_back(&finding);
  }
  std::string content;
  if (!failing.empty()) {
    ++cases.failures;
    content +=
        fmt::format("<failure type=\"{}\" message=\"{}\">{}{}</failure>", severity_name(failing.front()->severity),
                    html::escaped(rule.title), html::escaped(finding_lines(failing)),
                    html::escaped(fmt::format("{} {}", rule.why, rule.remedy)));
  } else if (report.run.processes == 0 || std::ranges::find(report.skipped, rule.id) != report.skipped.end()) {
    ++cases.skipped;
    content += "<skipped message=\"it could not be looked for\"/>";
  }
  if (!others.empty()) content += fmt::format("<system-out>{}</system-out>", html::escaped(finding_lines(others)));
  add_case(cases, rule.id, content);
}

}  // namespace

std::string check_junit(const CheckReport& report) {
  Cases cases;
  add_command_case(cases, report);
  for (const CheckRule& rule : check_rules()) add_rule(cases, report, rule);
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                                         cases.tests, cases.failures, cases.errors, cases.skipped, report.run.seconds);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"anymps check\" {0}>\n{1}"
      "  </testsuite>\n</testsuites>\n",
      counts, cases.xml);
}

}  // namespace anymps::lab::check
