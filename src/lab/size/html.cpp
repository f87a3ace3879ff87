#include "lab/size/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "lab/base/units.h"
#include "lab/html/escape.h"
#include "lab/html/page.h"

namespace anymps::lab::size {
namespace {

constexpr std::string_view kSizeStyle =
#include "assets/size.css.inc"
    ;

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

std::string fit_row_html(const MacFit& fit, const SizeReport& report) {
  const double memory = fit.mac.memory.value;
  const double working_set = fit.mac.working_set(report.macos).value / memory;
  const std::string title = fmt::format(
      "{}: {} of {} memory; device buffers {} of {}; largest buffer {} of {}; swaps beyond {}", fit.mac.name,
      base::human_bytes(report.figures.resident_bytes + report.figures.other_bytes),
      base::human_bytes(static_cast<std::uint64_t>(memory)), base::human_bytes(report.figures.block_bytes),
      base::human_bytes(static_cast<std::uint64_t>(fit.limit_bytes)), base::human_bytes(report.figures.largest_buffer),
      base::human_bytes(static_cast<std::uint64_t>(fit.buffer_limit)),
      base::human_bytes(static_cast<std::uint64_t>(fit.swaps_at)));
  std::string row = fmt::format(
      "<tr class=\"{}\"><td>{}</td><td class=\"bar\">{}</td><td class=\"n\">{:.0f}%</td><td class=\"verdict\">{} "
      "{}</td>",
      class_of(fit.fit), fit.mac.name, html::bar(fit.memory_share, working_set, title), 100 * fit.share(),
      sign_of(fit.fit), fit_text(fit.fit));
  row += fmt::format("<td class=\"n\">{}</td>", fit.step_seconds ? base::human_seconds(*fit.step_seconds) : "-");
  if (report.batch) {
    row += fmt::format("<td class=\"n\">{}</td>", fit.largest_batch ? std::to_string(*fit.largest_batch) : "-");
  }
  return row + "</tr>\n";
}

// Macs of one memory have one answer but for the time of a step.
std::string rows_by_memory(const SizeReport& report) {
  std::vector<const MacFit*> macs;
  for (const MacFit& fit : report.macs) macs.push_back(&fit);
  const auto memory_of = [](const MacFit* fit) { return fit->mac.memory.value; };
  std::ranges::stable_sort(macs, {}, memory_of);
  std::string rows;
  for (auto group = macs.begin(); group != macs.end();) {
    const auto end =
        std::find_if(group, macs.end(), [&](const MacFit* fit) { return memory_of(fit) != memory_of(*group); });
    const auto fitting = std::count_if(group, end, [](const MacFit* fit) { return fit->fit == Fit::kFits; });
    rows += fmt::format("<tr class=\"group\"><th colspan=\"{}\">{}: fits on {} of {}</th></tr>\n", report.batch ? 6 : 5,
                        base::human_bytes(static_cast<std::uint64_t>(memory_of(*group))), fitting, end - group);
    for (; group != end; ++group) rows += fit_row_html(**group, report);
  }
  return rows;
}

std::string measured_command(const trace::RunSummary& run) { return fmt::format("{}", fmt::join(run.command, " ")); }

}  // namespace

std::string size_html(const SizeReport& report) {
  const SizeFigures& figures = report.figures;
  const auto fitting = std::ranges::count(report.macs, Fit::kFits, &MacFit::fit);
  std::string html = html::page_head("anymps size", kSizeStyle) +
                     fmt::format("<h1>On which Macs would this run fit?</h1>\n<code>{}</code>\n<div class=\"cards\">\n",
                                 html::escaped(measured_command(report.run)));
  html += html::card(fmt::format("{} of {}", fitting, report.macs.size()), "Macs on which it fits");
  html += html::card(base::human_bytes(figures.block_bytes), "peak of tensors and temporaries");
  html += html::card(
      base::human_bytes(figures.resident_bytes),
      fmt::format("in {} process{}, the device's included", report.processes, report.processes == 1 ? "" : "es"));
  html += html::card(base::human_bytes(figures.other_bytes), "in other apps");
  html += html::card(base::human_bytes(figures.resident_bytes + figures.other_bytes),
                     "in all: a Mac with less memory swaps");
  html += fmt::format(
      "</div>\n<h2>Peak against memory, macOS {}</h2>\n<p class=\"dim\"><span class=\"wide\">A bar is one Mac's "
      "memory; the "
      "filled part is what this run and the other apps take of it. The tick is the working set that Metal "
      "recommends. </span>The share is of the limit that comes first.</p>\n<table><tr><th>Mac</th><th "
      "class=\"bar\"></th><th "
      "class=\"n\">share</th><th>verdict</th><th class=\"n\">step, estimated</th>{}</tr>\n",
      report.macos.text(),
      report.batch ? "<th class=\"n\">largest " + html::escaped(report.batch->argument) + "</th>" : "");
  html += rows_by_memory(report);
  html += "</table>\n<h2>What this leaves out</h2>\n<ul>\n";
  for (const std::string& note : size_notes(report)) html += "<li>" + html::escaped(note) + "</li>\n";
  return html + "</ul>\n</body></html>\n";
}

}  // namespace anymps::lab::size
