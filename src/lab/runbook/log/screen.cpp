#include "lab/runbook/logbook/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/base/json_text.h"
#include "lab/base/text_wrap.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/logbook/fields.h"
#include "lab/runbook/logbook/figures.h"

namespace anymps::lab::runbook::logbook {
namespace {

using nlohmann::json;

constexpr std::size_t kLogLabelWidth = 24;

std::string_view verdict_colour(const std::string& verdict) {
  if (verdict == "good") return "32";
  return verdict == "bad" ? "31" : "33";
}

std::size_t width_of(const base::Terminal& terminal) { return std::clamp<std::size_t>(terminal.width, 40, 120); }

std::string logged_command(const json& run) {
  std::string text;
  for (const json& word : document::member(run, "command"))
    text += (text.empty() ? "" : " ") + base::unquoted_json(word);
  return text;
}

std::string line(const base::Terminal& terminal, std::string_view label, std::string_view text) {
  // Counted in characters: a label may have more bytes than that.
  const std::size_t gap = kLogLabelWidth - std::min(kLogLabelWidth - 1, base::length_of(label) + 2);
  return "  " + std::string(label) + std::string(gap, ' ') +
         base::wrapped(text, width_of(terminal), std::string(kLogLabelWidth, ' '));
}

// The least and the most of a field in the samples.
std::string range_text(const json& samples, const LogField& field) {
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

std::string note_lines(const base::Terminal& terminal, const json& notes) {
  std::string text;
  for (const json& note : notes) {
    const auto run = static_cast<std::int64_t>(document::number_in(note, "run").value_or(0));
    text += fmt::format("  {}  {}{}\n", document::string_in(note, "at"), document::string_in(note, "kind"),
                        run > 0 ? fmt::format(", run {}", run) : "");
    text += "    " + base::wrapped(document::string_in(note, "text"), width_of(terminal), "    ");
    if (const std::string why = document::string_in(note, "why"); !why.empty()) {
      text += "    " + base::wrapped("because: " + why, width_of(terminal), "    ");
    }
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

std::string change_line(const base::Terminal& terminal, const json& change) {
  const std::string name = document::string_in(change, "name");
  const LogField* field = field_at(name);
  return line(terminal, base::keep_ends(field != nullptr ? field->label : name, kLogLabelWidth - 3),
              changed_fact_text(name, document::member(change, "before")) + " -> " +
                  changed_fact_text(name, document::member(change, "after")));
}

std::string change_text(const json& change) {
  return change.is_number() ? fmt::format("{:+.1f}%", 100 * change.get<double>()) : "";
}

}  // namespace

std::string log_list_screen(const json& document, const base::Terminal& terminal) {
  const json& runs = document::member(document, "runs");
  if (runs.empty()) return fmt::format("{} has no such run yet\n", document::string_in(document, "logbook"));
  // In a narrow terminal the command is worth more than these.
  const bool narrow = terminal.width < 80;
  const auto row = [&](const std::string& id, const std::string& started, const std::string& verb,
                       const std::string& state) {
    return fmt::format("{:>5}  {:<20}  {:<8}  ", id, started, verb) + (narrow ? "" : fmt::format("{:<11}  ", state));
  };
  std::string text =
      terminal.paint(base::kBold, row("run", "started (UTC)", "verb", "state") + fmt::format("{:<8}  ", "verdict") +
                                      (narrow ? "" : fmt::format("{:<12}  ", "torch")) + "command") +
      "\n";
  for (const json& run : runs) {
    const std::string verdict = document::string_in(run, "verdict");
    const std::string head = row(base::unquoted_json(document::member(run, "id")), document::string_in(run, "started"),
                                 document::string_in(run, "verb"), document::string_in(run, "state"));
    const std::string torch =
        narrow ? "  " : fmt::format("  {:<12}  ", document::string_in(document::member(run, "facts"), "torch", "-"));
    const std::size_t taken = head.size() + 8 + torch.size();
    text += head + terminal.paint(verdict_colour(verdict), fmt::format("{:<8}", verdict)) + torch +
            base::keep_end(
                logged_command(run),
                std::max<std::size_t>(narrow ? 10 : 20, width_of(terminal) - std::min(taken, width_of(terminal)))) +
            "\n";
  }
  return text;
}

std::string log_show_screen(const json& document, const base::Terminal& terminal) {
  const json& run = document::member(document, "run");
  const json& facts = document::member(run, "facts");
  const std::string verdict = document::string_in(run, "verdict");
  std::string text =
      terminal.paint(base::kBold, fmt::format("run {}: anymps {}", base::unquoted_json(document::member(run, "id")),
                                              document::string_in(run, "verb")));
  text += fmt::format(", {}, ", document::string_in(run, "state")) + terminal.paint(verdict_colour(verdict), verdict) +
          "\n";
  text += line(terminal, "started", document::string_in(run, "started"));
  text += line(terminal, "ended", document::string_in(run, "ended", "-"));
  text += line(terminal, "folder", document::string_in(run, "folder"));
  text += line(terminal, "command", logged_command(run));
  std::string_view group;
  for (const LogField& field : log_fields()) {
    if (group != field.group) {
      group = field.group;
      text += terminal.paint(base::kBold, group) + "\n";
    }
    text += line(terminal, field.label, text_of(field, facts));
  }
  const json& samples = document::member(run, "samples");
  text += terminal.paint(base::kBold, fmt::format("{} samples while it ran", samples.size())) + "\n";
  for (const char* name : {"speed_limit", "celsius", "swap_used_bytes", "load", "memory_free_bytes"}) {
    if (!samples.empty()) text += line(terminal, log_field(name).label, range_text(samples, log_field(name)));
  }
  text += terminal.paint(base::kBold, "environment") + "\n";
  for (const auto& [name, value] : document::member(facts, "environment").items()) {
    text += "  " + base::wrapped(name + "=" + base::unquoted_json(value), width_of(terminal), "    ");
  }
  text += terminal.paint(base::kBold, "settings") + "\n";
  for (const auto& [name, value] : document::member(facts, "settings").items())
    text += line(terminal, name, base::unquoted_json(value));
  if (const json& figures = document::member(document, "figures"); !figures.empty()) {
    text += terminal.paint(base::kBold, "figures") + "\n";
    for (const json& figure : figures) {
      const std::string place = document::string_in(figure, "at");
      text += line(terminal, document::string_in(figure, "name"),
                   figure_text(kind_from(document::string_in(figure, "kind")),
                               document::number_in(figure, "value").value_or(0)) +
                       (place.empty() ? "" : " at " + place));
    }
  }
  if (const json& parts = document::member(document, "parts"); !parts.empty()) {
    text += terminal.paint(base::kBold, "parts") + "\n";
    for (const json& part : parts) text += "  " + base::unquoted_json(part) + "\n";
  }
  if (const json& notes = document::member(document, "notes"); !notes.empty()) {
    text += terminal.paint(base::kBold, "notes") + "\n" + note_lines(terminal, notes);
  }
  return text;
}

std::string log_diff_screen(const json& document, const base::Terminal& terminal) {
  std::string text;
  for (const char* end : {"before", "after"}) {
    const json& run = document::member(document, end);
    text +=
        line(terminal, end,
             fmt::format("run {}, {} of {}: {}", base::unquoted_json(document::member(run, "run")),
                         document::string_in(run, "verb"), document::string_in(run, "started"), logged_command(run)));
  }
  text += terminal.paint(base::kBold, "what changed") + "\n";
  const json& changed = document::member(document, "changed");
  if (changed.empty()) text += "  nothing\n";
  for (const char* kind : {"setting", "circumstance", "condition"}) {
    for (const json& change : changed) {
      if (document::string_in(change, "kind") == kind) text += change_line(terminal, change);
    }
  }
  text += terminal.paint(base::kBold, "figures of both") + "\n";
  const json& figures = document::member(document, "figures");
  if (figures.empty()) text += "  none\n";
  for (const json& figure : figures) {
    const FigureKind kind = kind_from(document::string_in(figure, "kind"));
    const std::string place = document::string_in(figure, "at");
    text += line(terminal, base::keep_ends(document::string_in(figure, "name"), kLogLabelWidth - 3),
                 fmt::format("{} -> {}  {}{}", figure_text(kind, document::number_in(figure, "before").value_or(0)),
                             figure_text(kind, document::number_in(figure, "after").value_or(0)),
                             change_text(document::member(figure, "change")), place.empty() ? "" : "  at " + place));
  }
  text += terminal.paint(base::kBold, "what could explain it") + "\n";
  for (const json& explanation : document::member(document, "explanations")) {
    text += "  " + base::wrapped(document::string_in(explanation, "text"), width_of(terminal), "    ");
  }
  return text + "  " + base::wrapped(document::string_in(document, "conclusion"), width_of(terminal), "  ");
}

std::string log_notes_screen(const json& document, const base::Terminal& terminal) {
  const json& notes = document::member(document, "notes");
  return notes.empty() ? "nothing was noted\n" : note_lines(terminal, notes);
}

}  // namespace anymps::lab::runbook::logbook
