#include "lab/runbook/log_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/runbook/document_fields.h"
#include "lab/runbook/log_fields.h"
#include "lab/runbook/log_figures.h"
#include "lab/text_wrap.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

constexpr std::size_t kLogLabelWidth = 24;

std::string_view verdict_colour(const std::string& verdict) {
  if (verdict == "good") return "32";
  return verdict == "bad" ? "31" : "33";
}

std::size_t width_of(const Terminal& terminal) { return std::clamp<std::size_t>(terminal.width, 40, 120); }

std::string logged_command(const json& run) {
  std::string text;
  for (const json& word : member(run, "command")) text += (text.empty() ? "" : " ") + plain_text(word);
  return text;
}

std::string line(const Terminal& terminal, std::string_view label, std::string_view text) {
  // Counted in characters: a label may have more bytes than that.
  const std::size_t gap = kLogLabelWidth - std::min(kLogLabelWidth - 1, length_of(label) + 2);
  return "  " + std::string(label) + std::string(gap, ' ') +
         wrapped(text, width_of(terminal), std::string(kLogLabelWidth, ' '));
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

std::string note_lines(const Terminal& terminal, const json& notes) {
  std::string text;
  for (const json& note : notes) {
    const auto run = static_cast<std::int64_t>(number_in(note, "run").value_or(0));
    text += fmt::format("  {}  {}{}\n", text_member(note, "at"), text_member(note, "kind"),
                        run > 0 ? fmt::format(", run {}", run) : "");
    text += "    " + wrapped(text_member(note, "text"), width_of(terminal), "    ");
    if (const std::string why = text_member(note, "why"); !why.empty()) {
      text += "    " + wrapped("because: " + why, width_of(terminal), "    ");
    }
  }
  return text;
}

// What a fact was, in units where it has any.
std::string changed_fact_text(const std::string& name, const json& value) {
  const LogField* field = field_at(name);
  // The apps that changed are known by their names alone.
  if (field == nullptr || field->kind == FieldKind::kApps) return value.is_null() ? "-" : plain_text(value);
  json facts;
  facts[json::json_pointer(field->pointer)] = value;
  return text_of(*field, facts);
}

std::string change_line(const Terminal& terminal, const json& change) {
  const std::string name = text_member(change, "name");
  const LogField* field = field_at(name);
  return line(
      terminal, keep_ends(field != nullptr ? field->label : name, kLogLabelWidth - 3),
      changed_fact_text(name, member(change, "before")) + " -> " + changed_fact_text(name, member(change, "after")));
}

std::string change_text(const json& change) {
  return change.is_number() ? fmt::format("{:+.1f}%", 100 * change.get<double>()) : "";
}

}  // namespace

std::string log_list_screen(const json& document, const Terminal& terminal) {
  const json& runs = member(document, "runs");
  if (runs.empty()) return fmt::format("{} has no such run yet\n", text_member(document, "logbook"));
  // In a narrow terminal the command is worth more than these.
  const bool narrow = terminal.width < 80;
  const auto row = [&](const std::string& id, const std::string& started, const std::string& verb,
                       const std::string& state) {
    return fmt::format("{:>5}  {:<20}  {:<8}  ", id, started, verb) + (narrow ? "" : fmt::format("{:<11}  ", state));
  };
  std::string text =
      terminal.paint(kBold, row("run", "started (UTC)", "verb", "state") + fmt::format("{:<8}  ", "verdict") +
                                (narrow ? "" : fmt::format("{:<12}  ", "torch")) + "command") +
      "\n";
  for (const json& run : runs) {
    const std::string verdict = text_member(run, "verdict");
    const std::string head = row(plain_text(member(run, "id")), text_member(run, "started"), text_member(run, "verb"),
                                 text_member(run, "state"));
    const std::string torch =
        narrow ? "  " : fmt::format("  {:<12}  ", text_member(member(run, "facts"), "torch", "-"));
    const std::size_t taken = head.size() + 8 + torch.size();
    text +=
        head + terminal.paint(verdict_colour(verdict), fmt::format("{:<8}", verdict)) + torch +
        keep_end(logged_command(run),
                 std::max<std::size_t>(narrow ? 10 : 20, width_of(terminal) - std::min(taken, width_of(terminal)))) +
        "\n";
  }
  return text;
}

std::string log_show_screen(const json& document, const Terminal& terminal) {
  const json& run = member(document, "run");
  const json& facts = member(run, "facts");
  const std::string verdict = text_member(run, "verdict");
  std::string text =
      terminal.paint(kBold, fmt::format("run {}: anymps {}", plain_text(member(run, "id")), text_member(run, "verb")));
  text += fmt::format(", {}, ", text_member(run, "state")) + terminal.paint(verdict_colour(verdict), verdict) + "\n";
  text += line(terminal, "started", text_member(run, "started"));
  text += line(terminal, "ended", text_member(run, "ended", "-"));
  text += line(terminal, "folder", text_member(run, "folder"));
  text += line(terminal, "command", logged_command(run));
  std::string_view group;
  for (const LogField& field : log_fields()) {
    if (group != field.group) {
      group = field.group;
      text += terminal.paint(kBold, group) + "\n";
    }
    text += line(terminal, field.label, text_of(field, facts));
  }
  const json& samples = member(run, "samples");
  text += terminal.paint(kBold, fmt::format("{} samples while it ran", samples.size())) + "\n";
  for (const char* name : {"speed_limit", "celsius", "swap_used_bytes", "load", "memory_free_bytes"}) {
    if (!samples.empty()) text += line(terminal, log_field(name).label, range_text(samples, log_field(name)));
  }
  text += terminal.paint(kBold, "environment") + "\n";
  for (const auto& [name, value] : member(facts, "environment").items()) {
    text += "  " + wrapped(name + "=" + plain_text(value), width_of(terminal), "    ");
  }
  text += terminal.paint(kBold, "settings") + "\n";
  for (const auto& [name, value] : member(facts, "settings").items()) text += line(terminal, name, plain_text(value));
  if (const json& figures = member(document, "figures"); !figures.empty()) {
    text += terminal.paint(kBold, "figures") + "\n";
    for (const json& figure : figures) {
      const std::string place = text_member(figure, "at");
      text += line(terminal, text_member(figure, "name"),
                   figure_text(kind_from(text_member(figure, "kind")), number_in(figure, "value").value_or(0)) +
                       (place.empty() ? "" : " at " + place));
    }
  }
  if (const json& parts = member(document, "parts"); !parts.empty()) {
    text += terminal.paint(kBold, "parts") + "\n";
    for (const json& part : parts) text += "  " + plain_text(part) + "\n";
  }
  if (const json& notes = member(document, "notes"); !notes.empty()) {
    text += terminal.paint(kBold, "notes") + "\n" + note_lines(terminal, notes);
  }
  return text;
}

std::string log_diff_screen(const json& document, const Terminal& terminal) {
  std::string text;
  for (const char* end : {"before", "after"}) {
    const json& run = member(document, end);
    text += line(terminal, end,
                 fmt::format("run {}, {} of {}: {}", plain_text(member(run, "run")), text_member(run, "verb"),
                             text_member(run, "started"), logged_command(run)));
  }
  text += terminal.paint(kBold, "what changed") + "\n";
  const json& changed = member(document, "changed");
  if (changed.empty()) text += "  nothing\n";
  for (const char* kind : {"setting", "circumstance", "condition"}) {
    for (const json& change : changed) {
      if (text_member(change, "kind") == kind) text += change_line(terminal, change);
    }
  }
  text += terminal.paint(kBold, "figures of both") + "\n";
  const json& figures = member(document, "figures");
  if (figures.empty()) text += "  none\n";
  for (const json& figure : figures) {
    const FigureKind kind = kind_from(text_member(figure, "kind"));
    const std::string place = text_member(figure, "at");
    text += line(terminal, keep_ends(text_member(figure, "name"), kLogLabelWidth - 3),
                 fmt::format("{} -> {}  {}{}", figure_text(kind, number_in(figure, "before").value_or(0)),
                             figure_text(kind, number_in(figure, "after").value_or(0)),
                             change_text(member(figure, "change")), place.empty() ? "" : "  at " + place));
  }
  text += terminal.paint(kBold, "what could explain it") + "\n";
  for (const json& explanation : member(document, "explanations")) {
    text += "  " + wrapped(text_member(explanation, "text"), width_of(terminal), "    ");
  }
  return text + "  " + wrapped(text_member(document, "conclusion"), width_of(terminal), "  ");
}

std::string log_notes_screen(const json& document, const Terminal& terminal) {
  const json& notes = member(document, "notes");
  return notes.empty() ? "nothing was noted\n" : note_lines(terminal, notes);
}

}  // namespace anymps::lab
