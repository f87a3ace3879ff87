#include "lab/runbook/log/screen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/base/json_text.h"
#include "lab/base/text_wrap.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/log/fields.h"
#include "lab/runbook/log/figures.h"

namespace anymps::lab::runbook::log {
namespace {

using nlohmann::json;

constexpr std::size_t kLogLabelWidth = 24;

std::string_view verdict_colour(document::Verdict verdict) {
  if (verdict == document::Verdict::kGood) return base::kGreen;
  return verdict == document::Verdict::kBad ? base::kRed : base::kYellow;
}

std::size_t width_of(const base::Terminal& terminal) { return std::clamp<std::size_t>(terminal.width, 40, 120); }

std::string logged_command(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string line(const base::Terminal& terminal, std::string_view label, std::string_view text) {
  // Counted in characters: a label may have more bytes than that.
  const std::size_t gap = kLogLabelWidth - std::min(kLogLabelWidth - 1, base::length_of(label) + 2);
  return "  " + std::string(label) + std::string(gap, ' ') +
         base::wrapped(text, width_of(terminal), std::string(kLogLabelWidth, ' '));
}

// The least and the most of a field in the samples.
std::string range_text(const std::vector<json>& samples, const LogField& field) {
  std::optional<std::pair<double, double>> range;
  for (const json& sample : samples) {
    const json& value = value_of(field, sample);
    if (!value.is_number()) continue;
    const auto number = value.get<double>();
    range =
        range ? std::pair{std::min(range->first, number), std::max(range->second, number)} : std::pair{number, number};
  }
  if (!range) return "-";
  const auto shown = [&field](double number) {
    json facts;
    facts[json::json_pointer(field.pointer)] = number;
    return text_of(field, facts);
  };
  return range->first == range->second ? shown(range->first) : shown(range->first) + " to " + shown(range->second);
}

std::string note_lines(const base::Terminal& terminal, const std::vector<logbook::LoggedNote>& notes) {
  std::string text;
  for (const logbook::LoggedNote& note : notes) {
    text += fmt::format("  {}  {}{}\n", note.at, note.kind, note.run > 0 ? fmt::format(", run {}", note.run) : "");
    text += "    " + base::wrapped(note.text, width_of(terminal), "    ");
    if (!note.why.empty()) text += "    " + base::wrapped("because: " + note.why, width_of(terminal), "    ");
  }
  return text;
}

// What a fact was, in units where it has any.
std::string changed_fact_text(const std::string& name, const json& value) {
  const LogField* field = field_at(name);
  // The apps that changed are known by their names alone.
  if (field == nullptr || field->kind == FieldKind::kApps) return value.is_null() ? "-" : base::unquoted_json(value);
  json facts;
  facts[json::json_pointer(field->pointer)] = value;
  return text_of(*field, facts);
}

std::string change_line(const base::Terminal& terminal, const Change& change) {
  const LogField* field = field_at(change.name);
  return line(terminal, base::keep_ends(field != nullptr ? field->label : change.name, kLogLabelWidth - 3),
              changed_fact_text(change.name, change.before) + " -> " + changed_fact_text(change.name, change.after));
}

std::string figure_line(const base::Terminal& terminal, const FigurePair& figure) {
  const std::string change = figure.change ? fmt::format("{:+.1f}%", 100 * *figure.change) : "";
  return line(terminal, base::keep_ends(figure.name, kLogLabelWidth - 3),
              fmt::format("{} -> {}  {}{}", document::figure_text(figure.kind, figure.before),
                          document::figure_text(figure.kind, figure.after), change,
                          figure.at.empty() ? "" : "  at " + figure.at));
}

std::string end_line(const base::Terminal& terminal, std::string_view label, const DiffEnd& end) {
  return line(terminal, label,
              fmt::format("run {}, {} of {}: {}", end.run, end.verb, end.started, logged_command(end.command)));
}

std::string heading(const base::Terminal& terminal, std::string_view text) {
  return terminal.paint(base::kBold, text) + "\n";
}

// All fields of the logbook, by their groups.
std::string field_lines(const base::Terminal& terminal, const json& facts) {
  std::string text;
  std::string_view group;
  for (const LogField& field : log_fields()) {
    if (group != field.group) {
      group = field.group;
      text += heading(terminal, group);
    }
    text += line(terminal, field.label, text_of(field, facts));
  }
  return text;
}

std::string sample_lines(const base::Terminal& terminal, const std::vector<json>& samples) {
  std::string text = heading(terminal, fmt::format("{} samples while it ran", samples.size()));
  for (const char* name : {"speed_limit", "celsius", "swap_used_bytes", "load", "memory_free_bytes"}) {
    if (!samples.empty()) text += line(terminal, log_field(name).label, range_text(samples, log_field(name)));
  }
  return text;
}

// The environment variables and the options that it ran with.
std::string setting_lines(const base::Terminal& terminal, const json& facts) {
  std::string text = heading(terminal, "environment");
  for (const auto& [name, value] : document::member(facts, "environment").items()) {
    text += "  " + base::wrapped(name + "=" + base::unquoted_json(value), width_of(terminal), "    ");
  }
  text += heading(terminal, "settings");
  for (const auto& [name, value] : document::member(facts, "settings").items()) {
    text += line(terminal, name, base::unquoted_json(value));
  }
  return text;
}

}  // namespace

std::string log_list_screen(const ListDocument& document, const base::Terminal& terminal) {
  if (document.runs.empty()) return fmt::format("{} has no such run yet\n", document.head.logbook);
  // In a narrow terminal the command is worth more than these.
  const bool narrow = terminal.width < 80;
  const auto row = [&](std::string_view id, std::string_view started, std::string_view verb, std::string_view state) {
    return fmt::format("{:>5}  {:<20}  {:<8}  ", id, started, verb) + (narrow ? "" : fmt::format("{:<11}  ", state));
  };
  std::string text =
      heading(terminal, row("run", "started (UTC)", "verb", "state") + fmt::format("{:<8}  ", "verdict") +
                            (narrow ? "" : fmt::format("{:<12}  ", "torch")) + "command");
  for (const logbook::LoggedRun& run : document.runs) {
    const std::string head = row(std::to_string(run.id), run.started, run.verb, document::word_of(run.state));
    const std::string torch = narrow ? "  " : fmt::format("  {:<12}  ", document::string_in(run.facts, "torch", "-"));
    const std::size_t taken = head.size() + 8 + torch.size();
    text += head + terminal.paint(verdict_colour(run.verdict), fmt::format("{:<8}", word_of(run.verdict))) + torch +
            base::keep_end(
                logged_command(run.command),
                std::max<std::size_t>(narrow ? 10 : 20, width_of(terminal) - std::min(taken, width_of(terminal)))) +
            "\n";
  }
  return text;
}

std::string log_show_screen(const ShowDocument& document, const base::Terminal& terminal) {
  const logbook::LoggedRun& run = document.run.run;
  std::string text = terminal.paint(base::kBold, fmt::format("run {}: anymps {}", run.id, run.verb));
  text += fmt::format(", {}, ", document::word_of(run.state)) +
          terminal.paint(verdict_colour(run.verdict), word_of(run.verdict)) + "\n";
  text += line(terminal, "started", run.started);
  text += line(terminal, "ended", run.ended);
  text += line(terminal, "folder", run.folder);
  text += line(terminal, "command", logged_command(run.command));
  text += field_lines(terminal, run.facts) + sample_lines(terminal, document.run.samples) +
          setting_lines(terminal, run.facts);
  if (!document.figures.empty()) text += heading(terminal, "figures");
  for (const document::Figure& figure : document.figures) {
    text += line(terminal, figure.name,
                 document::figure_text(figure.kind, figure.value) + (figure.at.empty() ? "" : " at " + figure.at));
  }
  if (!document.parts.empty()) text += heading(terminal, "parts");
  for (const std::string& part : document.parts) text += "  " + part + "\n";
  if (!document.notes.empty()) text += heading(terminal, "notes") + note_lines(terminal, document.notes);
  return text;
}

std::string log_diff_screen(const DiffDocument& document, const base::Terminal& terminal) {
  std::string text = end_line(terminal, "before", document.before) + end_line(terminal, "after", document.after);
  text += heading(terminal, "what changed");
  if (document.changed.empty()) text += "  nothing\n";
  for (const ChangeKind kind : {ChangeKind::kSetting, ChangeKind::kCircumstance, ChangeKind::kCondition}) {
    for (const Change& change : document.changed) {
      if (change.kind == kind) text += change_line(terminal, change);
    }
  }
  text += heading(terminal, "figures of both");
  if (document.figures.empty()) text += "  none\n";
  for (const FigurePair& figure : document.figures) text += figure_line(terminal, figure);
  text += heading(terminal, "what could explain it");
  for (const Explanation& explanation : document.explanations) {
    text += "  " + base::wrapped(explanation.text, width_of(terminal), "    ");
  }
  return text + "  " + base::wrapped(document.conclusion, width_of(terminal), "  ");
}

std::string log_notes_screen(const NotesDocument& document, const base::Terminal& terminal) {
  return document.notes.empty() ? "nothing was noted\n" : note_lines(terminal, document.notes);
}

std::string log_readme_screen(const ReadmeDocument& document, const base::Terminal& /*terminal*/) {
  return document.paragraph + "\n";
}

}  // namespace anymps::lab::runbook::log
