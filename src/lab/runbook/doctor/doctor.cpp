#include "lab/runbook/doctor/doctor.h"

#include <algorithm>

#include "lab/runbook/doctor/gates.h"

namespace anymps::lab::runbook::doctor {

using nlohmann::json;

json doctor_document(const DoctorFacts& facts, bool strict) {
  auto gates = json::array();
  for (const Gate& gate : doctor_gates(facts)) gates.push_back(to_json(gate));
  return {{"gates", std::move(gates)}, {"strict", strict}};
}

document::Verdict doctor_verdict(const json& document) {
  const bool strict = document.at("strict").get<bool>();
  const bool bad = std::ranges::any_of(document.at("gates"), [strict](const json& gate) {
    return gate.at("state") == "red" || (strict && gate.at("state") == "yellow");
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
