#include "lab/runbook/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/report/assets.h"
#include "lab/runbook/report/publishable.h"
#include "lab/runbook/report/sections.h"
#include "lab/runbook/verbs/verbs.h"

namespace anymps::lab::runbook::report {
namespace {

using nlohmann::json;

// What most scripts call it, where no sweep says.
constexpr const char* kUsualBatchArgument = "--batch-size";

std::size_t place_of(const verbs::Verb* verb) {
  return verb != nullptr ? static_cast<std::size_t>(verb - verbs::all_verbs().data()) : verbs::all_verbs().size();
}

std::string headline(const json& document) {
  const verbs::Verb* verb = verbs::verb_named(document::string_in(document, "verb"));
  return verb != nullptr ? verb->headline(document) : "";
}

struct ReportSection {
  std::string verb;
  const verbs::Verb* known = nullptr;  // null: a verb that is not known
  std::string title;
  std::string html;
  section::ReportRuns runs;
  std::vector<std::int64_t> ids;
};

std::size_t occurrences(std::string_view text, std::string_view piece) {
  std::size_t number = 0;
  for (std::size_t at = text.find(piece); at != std::string_view::npos; at = text.find(piece, at + 1)) ++number;
  return number;
}

section::ReportRun report_run(const logbook::FinishedRun& run, std::size_t style) {
  const std::string mac = run.mac();
  return {run.document, mac.empty() ? run.name : fmt::format("{}, {}", run.name, mac), style, run.simulated()};
}

// One of each verb, with all runs of it.
std::vector<ReportSection> sections_of(const std::vector<logbook::FinishedRun>& chosen) {
  std::vector<ReportSection> sections;
  for (const logbook::FinishedRun& run : chosen) {
    const std::string verb = run.verb();
    auto section = std::ranges::find(sections, verb, &ReportSection::verb);
    if (section == sections.end()) {
      const verbs::Verb* known = verbs::verb_named(verb);
      sections.push_back({verb, known, known != nullptr ? std::string(known->title) : verb, "", {}, {}});
      section = std::prev(sections.end());
    }
    section->runs.push_back(report_run(run, section->runs.size()));
    section->ids.push_back(run.id);
  }
  std::ranges::stable_sort(sections, {}, [](const ReportSection& section) { return place_of(section.known); });
  for (ReportSection& section : sections) {
    section.html = section.known != nullptr ? section.known->section(section.runs) : other_section(section.runs);
  }
  return sections;
}

std::string section_html(const ReportSection& section, std::size_t number) {
  const std::string_view about = section.known != nullptr ? section.known->about : std::string_view();
  return fmt::format("<section id=\"part{}\" data-verb=\"{}\">\n<h2>{}</h2>\n{}{}</section>\n", number,
                     html::escaped(section.verb), html::escaped(section.title),
                     about.empty() ? "" : fmt::format("<p class=\"about\">{}</p>\n", html::escaped(about)),
                     section.html);
}

std::string overview(const std::vector<ReportSection>& sections) {
  std::string rows;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    for (const section::ReportRun& run : sections[i].runs) {
      const auto verdict = document::enum_of<document::Verdict>(document::string_in(run.document, "verdict"));
      rows += fmt::format("<tr><td><a href=\"#part{}\">{}</a></td><td>{}</td><td>{}{}</td><td>{}</td></tr>\n", i,
                          html::escaped(sections[i].title), html::escaped(run.label), section::verdict_badge(verdict),
                          run.simulated ? " " + section::badge(section::Tone::kClose, "simulated") : "",
                          html::escaped(headline(run.document)));
    }
  }
  return "<div class=\"scroll overview\" role=\"region\" aria-label=\"Overview\" tabindex=\"0\"><table><thead><tr><th "
         "scope=\"col\">part</th><th scope=\"col\">run</th><th scope=\"col\">verdict</th><th scope=\"col\">in one "
         "line</th></tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string publish_panel(const Publishable& judged, const std::string& label) {
  std::string html = fmt::format("<div class=\"publish{}\"><b>Throughput of {}</b> {}\n<ul>\n",
                                 judged.yes() ? " yes" : "", html::escaped(label), html::escaped(judged.sentence()));
  for (const Requirement& requirement : judged.behind) {
    html += fmt::format(
        "<li>{}<span class=\"dim\">{}</span>{}</li>\n",
        section::badge(requirement.met ? section::Tone::kGood : section::Tone::kBad, requirement.name),
        html::escaped(requirement.found),
        requirement.command.empty() ? "" : fmt::format("<code>{}</code>", html::escaped(requirement.command)));
  }
  return html + "</ul></div>\n";
}

// Every command on the page once.
std::string commands(const std::vector<logbook::FinishedRun>& chosen) {
  std::vector<std::string> lines;
  for (const logbook::FinishedRun& run : chosen) {
    std::string line = section::command_line(document::list_in(run.document, "command"));
    if (!line.empty() && std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  std::string html;
  for (const std::string& line : lines) html += fmt::format("<div><code>{}</code></div>\n", html::escaped(line));
  return html;
}

std::string batch_argument(const std::vector<logbook::FinishedRun>& all) {
  for (const logbook::FinishedRun& run : all) {
    if (std::string argument = document::words_in(run.document, "argument");
        run.verb() == "sweep" && !argument.empty()) {
      return argument;
    }
  }
  return kUsualBatchArgument;
}

}  // namespace

std::vector<logbook::FinishedRun> choose_runs(const std::vector<logbook::FinishedRun>& all, bool side_by_side) {
  const auto has_command = [](const logbook::FinishedRun& run) {
    return !document::list_in(run.document, "command").empty();
  };
  const auto newest = std::ranges::find_if(all, has_command);
  const std::string argument = batch_argument(all);
  std::vector<logbook::FinishedRun> chosen;
  for (const logbook::FinishedRun& run : all) {
    // Those without a command, such as the doctor's, are about the machine.
    if (newest != all.end() && has_command(run) && !logbook::same_command(run, *newest, argument)) continue;
    const bool known = std::ranges::any_of(chosen, [&](const logbook::FinishedRun& other) {
      return other.verb() == run.verb() && (!side_by_side || (other.key == run.key && other.host() == run.host()));
    });
    if (!known) chosen.push_back(run);
  }
  // Older ones first, as they were run.
  std::ranges::reverse(chosen);
  return chosen;
}

Report make_report(const std::vector<logbook::FinishedRun>& chosen, const std::vector<logbook::FinishedRun>& all) {
  const std::vector<ReportSection> sections = sections_of(chosen);
  Report report;
  json& document = report.document;
  document["sections"] = json::array();
  std::string parts;
  section::ReportRuns every;
  for (const ReportSection& section : sections) {
    json runs = json::array();
    for (std::size_t i = 0; i < section.runs.size(); ++i) {
      const section::ReportRun& run = section.runs[i];
      runs.push_back({{"run", section.ids[i]},
                      {"label", run.label},
                      {"verdict", document::words_in(run.document, "verdict")},
                      {"simulated", run.simulated},
                      {"headline", headline(run.document)}});
      every.push_back(run);
    }
    document["sections"].push_back({{"verb", section.verb},
                                    {"title", section.title},
                                    {"charts", occurrences(section.html, "<figure class=\"chart")},
                                    {"tables", occurrences(section.html, "<table class=\"sorts\"")},
                                    {"runs", std::move(runs)}});
    parts += section_html(section, document["sections"].size() - 1);
  }

  std::string panels;
  json judgements = json::array();
  bool all_publishable = true;
  for (const logbook::FinishedRun& run : chosen) {
    if (run.verb() != "sweep") continue;
    const Publishable judged = judge_throughput(run, all);
    all_publishable = all_publishable && judged.yes();
    judgements.push_back(to_json(judged));
    panels += publish_panel(judged, report_run(run, 0).label);
  }
  if (judgements.empty())
    panels = "<p class=\"dim\">There is no sweep on this page, and so no throughput to publish.</p>\n";
  document["publishable"] = {{"publishable", all_publishable && !judgements.empty()},
                             {"sweeps", std::move(judgements)}};

  report.html =
      html::page_head("anymps report", std::string(html::chart_style()) + std::string(report_style()), report_policy());
  report.html +=
      fmt::format("<main>\n<header>\n<h1>Runbook report</h1>\n{}<p class=\"dim\">Made by anymps report, {}</p>\n",
                  commands(chosen), logbook::utc_now());
  report.html += overview(sections) + panels + "</header>\n" + parts;
  report.html +=
      "<section id=\"facts\" data-verb=\"log\">\n<h2>Circumstances</h2>\n<p class=\"about\">What reviewers ask "
      "for when two figures differ.</p>\n" +
      facts_section(every) + "</section>\n</main>\n";
  report.html += fmt::format("<script>{}</script>\n</body></html>\n", report_script());
  return report;
}

}  // namespace anymps::lab::runbook::report
