#include "lab/size_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/summary_screen.h"

namespace anymps::lab {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1c1e21; --dim: #667079; --paper: #ffffff; --track: #e9ecef; --line: #d5dade;
  --fits: #2f8f5b; --close: #c98a12; --bad: #c8433a; --mark: #1c1e21; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --dim: #9aa4ad; --paper: #15181b; --track: #2a2f34;
  --line: #3a4047; --fits: #4fb87f; --close: #e0a83a; --bad: #ec6f66; --mark: #e6e8ea; } }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem; min-width: 9rem; }
.card b { display: block; font-size: 1.25rem; } .card span, .dim { color: var(--dim); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--dim); font-size: .8rem; padding: .2rem .5rem; }
td { padding: .18rem .5rem; border-top: 1px solid var(--line); white-space: nowrap; }
td.n, th.n { text-align: right; } td.bar { width: 45%; }
.track { position: relative; height: .95rem; background: var(--track); border-radius: .2rem; overflow: hidden; }
.fill { height: 100%; } .fits .fill { background: var(--fits); } .close .fill { background: var(--close); }
.bad .fill { background: var(--bad); } .tick { position: absolute; top: 0; bottom: 0; width: 2px; background: var(--mark); }
.fits .verdict { color: var(--fits); } .close .verdict { color: var(--close); } .bad .verdict { color: var(--bad); }
li { margin: .3rem 0; max-width: 52rem; }
)css";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

const char* class_of(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "fits";
    case Fit::kTooClose:
      return "close";
    default:
      return "bad";
  }
}

// A sign besides the colour, for those who do not see the difference.
const char* sign_of(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "✓";
    case Fit::kTooClose:
      return "?";
    default:
      return "✕";
  }
}

std::string card(std::string_view value, std::string_view label) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(label));
}

double percent(double share) { return 100 * std::clamp(share, 0.0, 1.0); }

std::string row_of(const MacFit& fit, const SizeReport& report) {
  const double memory = fit.mac.memory.value;
  const double working_set = fit.mac.working_set(report.macos).value / memory;
  const std::string title = fmt::format(
      "{}: {} of {} memory; device buffers {} of {}; swaps beyond {}", fit.mac.name,
      human_bytes(report.figures.resident_bytes + report.figures.other_bytes),
      human_bytes(static_cast<std::uint64_t>(memory)), human_bytes(report.figures.block_bytes),
      human_bytes(static_cast<std::uint64_t>(fit.limit_bytes)), human_bytes(static_cast<std::uint64_t>(fit.swaps_at)));
  std::string row = fmt::format(
      "<tr class=\"{0}\"><td>{1}</td><td class=\"bar\"><div class=\"track\" title=\"{2}\" role=\"img\" "
      "aria-label=\"{2}\"><div class=\"fill\" style=\"width:{3:.1f}%\"></div><div class=\"tick\" "
      "style=\"left:{4:.1f}%\"></div></div></td><td class=\"n\">{5:.0f} %</td><td class=\"verdict\">{6} {7}</td>",
      class_of(fit.fit), fit.mac.name, escaped(title), percent(fit.memory_share), percent(working_set),
      100 * std::max(fit.limit_share, fit.memory_share), sign_of(fit.fit), fit_text(fit.fit));
  row += fmt::format("<td class=\"n\">{}</td>", fit.step_seconds ? human_seconds(*fit.step_seconds) : "-");
  if (report.batch) {
    row += fmt::format("<td class=\"n\">{}</td>", fit.largest_batch ? std::to_string(*fit.largest_batch) : "-");
  }
  return row + "</tr>\n";
}

std::string command_of(const RunSummary& run) { return fmt::format("{}", fmt::join(run.command, " ")); }

}  // namespace

std::string size_html(const SizeReport& report) {
  const SizeFigures& figures = report.figures;
  const auto fitting = std::ranges::count(report.macs, Fit::kFits, &MacFit::fit);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>anymps size</title><style>{}</style></head><body>\n"
      "<h1>On which Macs would this run fit?</h1>\n<code>{}</code>\n<div class=\"cards\">\n",
      kStyle, escaped(command_of(report.run)));
  html += card(fmt::format("{} of {}", fitting, report.macs.size()), "Macs on which it fits");
  html += card(human_bytes(figures.block_bytes), "peak of tensors and temporaries");
  html += card(human_bytes(figures.resident_bytes), fmt::format("in {} process{}, the device's included",
                                                                report.processes, report.processes == 1 ? "" : "es"));
  html += card(human_bytes(figures.other_bytes), "in other apps");
  html += card(human_bytes(figures.resident_bytes + figures.other_bytes), "swaps where memory is below");
  html += fmt::format(
      "</div>\n<h2>Peak against memory, macOS {}</h2>\n<p class=\"dim\">A bar is one Mac's memory; the filled "
      "part is what this run and the other apps take of it. The tick is the working set that Metal "
      "recommends. The share is of the limit that comes first.</p>\n<table><tr><th>Mac</th><th></th><th "
      "class=\"n\">share</th><th>verdict</th><th class=\"n\">step, estimated</th>{}</tr>\n",
      report.macos.text(), report.batch ? "<th class=\"n\">largest " + escaped(report.batch->argument) + "</th>" : "");
  for (const MacFit& fit : report.macs) html += row_of(fit, report);
  html += "</table>\n<h2>What this leaves out</h2>\n<ul>\n";
  for (const std::string& note : size_notes(report)) html += "<li>" + escaped(note) + "</li>\n";
  return html + "</ul>\n</body></html>\n";
}

}  // namespace anymps::lab
