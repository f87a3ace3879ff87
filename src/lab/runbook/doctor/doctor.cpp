#include "lab/runbook/doctor/doctor.h"

#include <algorithm>

#include "lab/runbook/doctor/gates.h"

namespace anymps::lab::runbook::doctor {

using nlohmann::json;

DoctorDocument doctor_document(const DoctorFacts& facts, bool strict) {
  return {.head = {}, .gates = doctor_gates(facts), .strict = strict};
}

document::Verdict doctor_verdict(const DoctorDocument& document) {
  const bool bad = std::ranges::any_of(document.gates, [&document](const Gate& gate) {
    return gate.state == GateState::kRed || (document.strict && gate.state == GateState::kYellow);
  });
  return bad ? document::Verdict::kBad : document::Verdict::kGood;
}

json logged_facts(const DoctorFacts& facts) {
  const json& python = facts.python;
  json found = {{"python", python.value("version", json())}};
  if (python.contains("torch")) found["torch"] = python["torch"].value("version", json());
  if (python.contains("threads")) found["threads"] = python["threads"].value("operators", json());
  if (python.contains("product")) found["device"] = python["product"].value("device", json());
  return found;
}

}  // namespace anymps::lab::runbook::doctor
