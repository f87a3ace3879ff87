// The documents of `anymps log`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/figure.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/document/verdict.h"
#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::log {

// What all of them have. Nothing here is a verdict: the status is good.
struct LogHead {
  int version = document::kVersion;
  std::string verb = "log";
  int status = 0;
  std::string logbook;  // its path

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("version", self.version);
    fields("verb", self.verb);
    fields("status", self.status);
    fields("logbook", self.logbook);
  }
};

struct RunWithSamples {
  logbook::LoggedRun run;
  std::vector<nlohmann::json> samples;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    logbook::LoggedRun::describe(fields, self.run);
    fields("samples", self.samples);
  }
};

struct ListDocument {
  LogHead head;
  std::vector<logbook::LoggedRun> runs;  // newest first

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LogHead::describe(fields, self.head);
    fields("runs", self.runs);
  }
};

struct ShowDocument {
  LogHead head;
  RunWithSamples run;
  std::vector<document::Figure> figures;
  std::vector<std::string> parts;  // their names
  std::vector<logbook::LoggedNote> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LogHead::describe(fields, self.head);
    fields("run", self.run);
    fields("figures", self.figures);
    fields("parts", self.parts);
    fields("notes", self.notes);
  }
};

// One of two runs that are compared.
struct DiffEnd {
  std::int64_t run = 0;
  std::string verb;
  std::string started;
  document::Verdict verdict = document::Verdict::kUnknown;
  std::vector<std::string> command;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("run", self.run);
    fields("verb", self.verb);
    fields("started", self.started);
    fields("verdict", self.verdict);
    fields("command", self.command);
  }
};

enum class ChangeKind {
  kSetting,
  kCircumstance,
  kCondition,  // it differs from one minute to the next
};

constexpr document::EnumWord<ChangeKind> kChangeKindWords[] = {{ChangeKind::kSetting, "setting"},
                                                               {ChangeKind::kCircumstance, "circumstance"},
                                                               {ChangeKind::kCondition, "condition"}};
constexpr std::span<const document::EnumWord<ChangeKind>> words_of(ChangeKind /*value*/) { return kChangeKindWords; }

// Of a fact, which is null where it was not recorded.
struct Change {
  std::string name;
  nlohmann::json before;
  nlohmann::json after;
  ChangeKind kind = ChangeKind::kCircumstance;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("before", self.before);
    fields("after", self.after);
    fields("kind", self.kind);
  }
};

// A figure that both runs have.
struct FigurePair {
  std::string name;
  std::string at;
  document::FigureKind kind = document::FigureKind::kOther;
  double before = 0;
  double after = 0;
  std::optional<double> change;  // share of `before`; none where that is 0

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("at", self.at);
    fields("kind", self.kind);
    fields("before", self.before);
    fields("after", self.after);
    fields("change", self.change);
  }
};

struct Explanation {
  std::string name;
  std::string text;
  std::optional<double> up_to;  // share of the faster run's speed that it can take; nothing: no bound is known

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("text", self.text);
    fields("up_to", self.up_to);
  }
};

struct DiffDocument {
  LogHead head;
  DiffEnd before;
  DiffEnd after;
  std::vector<Change> changed;
  std::vector<FigurePair> figures;
  std::optional<double> speed_change;  // a share; none where no figure of speed is in both
  std::vector<Explanation> explanations;
  std::string conclusion;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LogHead::describe(fields, self.head);
    fields("before", self.before);
    fields("after", self.after);
    fields("changed", self.changed);
    fields("figures", self.figures);
    fields("speed_change", self.speed_change);
    fields("explanations", self.explanations);
    fields("conclusion", self.conclusion);
  }
};

struct NotesDocument {
  LogHead head;
  std::vector<logbook::LoggedNote> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LogHead::describe(fields, self.head);
    fields("notes", self.notes);
  }
};

struct ReadmeDocument {
  LogHead head;
  std::string paragraph;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LogHead::describe(fields, self.head);
    fields("paragraph", self.paragraph);
  }
};

}  // namespace anymps::lab::runbook::log
