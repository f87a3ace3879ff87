// The document of `anymps doctor`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/enum_words.h"
#include "lab/runbook/document/head.h"

namespace anymps::lab::runbook::doctor {

enum class GateState {
  kGreen,   // in order
  kYellow,  // it makes figures doubtful
  kRed,     // it must hold, and does not
};

constexpr document::EnumWord<GateState> kGateStateWords[] = {
    {GateState::kGreen, "green"}, {GateState::kYellow, "yellow"}, {GateState::kRed, "red"}};
constexpr std::span<const document::EnumWord<GateState>> words_of(GateState /*value*/) { return kGateStateWords; }

// For those who look for what is to be done.
constexpr GateState kWorstFirst[] = {GateState::kRed, GateState::kYellow, GateState::kGreen};

struct Gate {
  std::string name;
  GateState state = GateState::kGreen;
  std::string value;   // what was found
  std::string why;     // why it matters, or what it means; may be empty where it is green
  std::string remedy;  // empty where it is green

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("state", self.state);
    fields("value", self.value);
    fields("why", self.why);
    fields("remedy", self.remedy);
  }
};

struct DoctorDocument {
  document::Head head;
  std::vector<Gate> gates;
  bool strict = false;  // a yellow gate is as bad as a red one

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("gates", self.gates);
    fields("strict", self.strict);
  }
};

}  // namespace anymps::lab::runbook::doctor
