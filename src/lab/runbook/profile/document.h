// The document of `anymps profile`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/enum_words.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/profile/parts.h"

namespace anymps::lab::runbook::profile {

// What holds a script back.
enum class Finding {
  kInput,
  kWaits,
  kFallback,
  kWorkers,
  // The script itself did not come through its window:
  kOutOfMemory,
  kCrashed,
  kKilled,
  kHung,
  kNotStarted,
};

constexpr document::EnumWord<Finding> kFindingWords[] = {{Finding::kInput, "input"},
                                                         {Finding::kWaits, "waits"},
                                                         {Finding::kFallback, "fallback"},
                                                         {Finding::kWorkers, "workers"},
                                                         {Finding::kOutOfMemory, "the script out of memory"},
                                                         {Finding::kCrashed, "the script crashed"},
                                                         {Finding::kKilled, "the script killed"},
                                                         {Finding::kHung, "the script hung"},
                                                         {Finding::kNotStarted, "the script not started"}};
constexpr std::span<const document::EnumWord<Finding>> words_of(Finding /*value*/) { return kFindingWords; }

// Where the time of a step goes; together they are 1.
struct Shares {
  double input = 0;
  double host = 0;
  double device = 0;
  double waiting = 0;
  double fallback = 0;

  // In the order of the documents' fields.
  std::array<std::pair<std::string_view, double>, 5> named() const {
    return {{{"device", device}, {"fallback", fallback}, {"host", host}, {"input", input}, {"waiting", waiting}}};
  }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("input", self.input);
    fields("host", self.host);
    fields("device", self.device);
    fields("waiting", self.waiting);
    fields("fallback", self.fallback);
  }
};

struct AskedWindow {
  std::uint64_t warm_up = 0;
  std::uint64_t steps = 0;  // that were seen after it

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("warm_up", self.warm_up);
    fields("steps", self.steps);
  }
};

struct FullStep {
  FullPart part;
  std::optional<Shares> shares;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    FullPart::describe(fields, self.part);
    fields.if_any("shares", self.shares);
  }
};

struct DataAlone {
  LoadingPart part;
  LoadingStages loading;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LoadingPart::describe(fields, self.part);
    LoadingStages::describe(fields, self.loading);
  }
};

// All but the head, which `anymps decide` has in its own document, too.
struct Profile {
  AskedWindow window;
  FullStep full;
  DataAlone data;
  ForwardPart forward;
  std::vector<OperatorRow> operators;
  std::vector<FallbackRow> fallbacks;
  std::vector<WaitRow> waits;
  std::optional<ModelledDevice> modelled;
  std::vector<WorkersRow> workers;
  bool simulated = false;
  std::optional<document::Failure> failure;  // of the whole script
  std::string story;
  std::optional<std::vector<Finding>> findings;  // nothing where no step was seen, as with the notes
  std::optional<std::vector<std::string>> notes;

  std::optional<double> step_seconds() const {
    return full.part.window ? std::optional(full.part.window->step_seconds) : std::nullopt;
  }
  std::uint64_t steps() const { return full.part.window ? full.part.window->steps : 0; }
  double input_share() const { return full.shares ? full.shares->input : 0; }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("window", self.window);
    fields("full", self.full);
    fields("data", self.data);
    fields("forward", self.forward);
    fields("operators", self.operators);
    fields("fallbacks", self.fallbacks);
    fields("waits", self.waits);
    fields("modelled", self.modelled);
    fields("workers", self.workers);
    fields("simulated", self.simulated);
    fields.if_any("failure", self.failure);
    fields("story", self.story);
    fields.if_any("findings", self.findings);
    fields.if_any("notes", self.notes);
  }
};

struct ProfileDocument {
  document::Head head;
  Profile profile;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    Profile::describe(fields, self.profile);
  }
};

}  // namespace anymps::lab::runbook::profile
