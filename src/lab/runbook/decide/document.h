// The document of `anymps decide`, with what it measured or with --stop-rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/enum_words.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/profile/document.h"

namespace anymps::lab::runbook::decide {

enum class Choice {
  kMps,
  kCpu,
  kRemote,
  kPreprocessOnMps,
  kFixTheDataPlane,
  kTakeTheWaitsOut,
  kRewriteALayer,
  kUndecided,
  kGoOn,  // as the stop rule has it
  kStopTuning,
};

constexpr document::EnumWord<Choice> kChoiceWords[] = {
    {Choice::kMps, "mps"},
    {Choice::kCpu, "cpu"},
    {Choice::kRemote, "remote"},
    {Choice::kPreprocessOnMps, "preprocess on mps, train elsewhere"},
    {Choice::kFixTheDataPlane, "fix the data plane and the batch first"},
    {Choice::kTakeTheWaitsOut, "take the waits out of the loop"},
    {Choice::kRewriteALayer, "rewrite a layer, or run it on the CPU deliberately"},
    {Choice::kUndecided, "undecided"},
    {Choice::kGoOn, "go on"},
    {Choice::kStopTuning, "stop tuning, change the contract"}};
constexpr std::span<const document::EnumWord<Choice>> words_of(Choice /*value*/) { return kChoiceWords; }

struct Decision {
  Choice outcome = Choice::kUndecided;
  std::string why;
  std::vector<std::string> options;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("outcome", self.outcome);
    fields("why", self.why);
    fields("options", self.options);
  }
};

enum class Place { kCpu, kMps, kMlx, kRemote };

constexpr document::EnumWord<Place> kPlaceWords[] = {
    {Place::kCpu, "cpu"}, {Place::kMps, "mps"}, {Place::kMlx, "mlx"}, {Place::kRemote, "remote"}};
constexpr std::span<const document::EnumWord<Place>> words_of(Place /*value*/) { return kPlaceWords; }

struct Candidate {
  Place place = Place::kCpu;
  std::optional<double> step_seconds;
  bool simulated = false;
  std::string note;

  bool ran() const { return step_seconds.has_value(); }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.place);
    fields.derived("ran", self.ran());
    fields("step_seconds", self.step_seconds);
    fields("simulated", self.simulated);
    fields("note", self.note);
  }
};

struct Threshold {
  std::string name;
  std::optional<double> value;  // none: it could not be judged
  double limit = 0;
  bool exceeded = false;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("value", self.value);
    fields("limit", self.limit);
    fields("exceeded", self.exceeded);
  }
};

// An operator that keeps the device from being worth it.
struct HeldBack {
  std::string name;
  std::optional<double> seconds;
  std::string reason;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("operator", self.name);
    fields("seconds", self.seconds);
    fields("reason", self.reason);
  }
};

// A row of the runbook's tables.
struct Symptom {
  std::string symptom;
  std::string hypothesis;
  std::string action;
  bool applies = false;
  std::string evidence;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("symptom", self.symptom);
    fields("hypothesis", self.hypothesis);
    fields("action", self.action);
    fields("applies", self.applies);
    fields("evidence", self.evidence);
  }
};

struct Evidence {
  std::string text;
  std::int64_t run = 0;  // in the logbook

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("text", self.text);
    fields("run", self.run);
  }
};

// What the decision rests on.
struct Grounds {
  std::vector<Candidate> candidates;
  std::vector<Threshold> thresholds;
  std::vector<HeldBack> holding_back;
  std::vector<Symptom> symptoms;
  bool simulated = false;
  std::vector<std::string> notes;
  std::vector<Evidence> evidence;
  profile::Profile profile;  // on mps

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("candidates", self.candidates);
    fields("thresholds", self.thresholds);
    fields("holding_back", self.holding_back);
    fields("symptoms", self.symptoms);
    fields("simulated", self.simulated);
    fields("notes", self.notes);
    fields("evidence", self.evidence);
    fields("profile", self.profile);
  }
};

// Two profiles that end the tuning.
struct StopRule {
  std::vector<std::int64_t> runs;  // the older one first
  double days_apart = 0;
  double change = 0;
  std::vector<std::string> operators;
  std::string why;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("runs", self.runs);
    fields("days_apart", self.days_apart);
    fields("change", self.change);
    fields("operators", self.operators);
    fields("why", self.why);
  }
};

// The stop rule was asked for, and what it said: null where the tuning may go on.
struct StopAnswer {
  std::optional<StopRule> rule;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("stop_rule", self.rule);
  }
};

// A note of the logbook.
struct RejectedHypothesis {
  std::string text;
  std::string why;
  std::string at;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("text", self.text);
    fields("why", self.why);
    fields("at", self.at);
  }
};

struct DecideDocument {
  document::Head head;
  Decision decision;
  std::optional<Grounds> grounds;  // unless the stop rule alone was asked for
  std::optional<StopAnswer> stop;
  std::vector<RejectedHypothesis> rejected;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("decision", self.decision);
    fields.together(self.grounds);
    fields.together(self.stop);
    fields("rejected", self.rejected);
  }
};

}  // namespace anymps::lab::runbook::decide
