// The gates before a training: what must hold (red), what makes figures doubtful (yellow), what is in order (green).
// Pure functions of facts, so that those of a Mac are judged by the same code anywhere.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lab/runbook/doctor/facts.h"

namespace anymps::lab::runbook::doctor {

enum class GateState { kGreen, kYellow, kRed };

std::string_view state_text(GateState state);

struct Gate {
  std::string name;
  GateState state = GateState::kGreen;
  std::string value;   // what was found
  std::string why;     // why it matters, or what it means; may be empty where it is green
  std::string remedy;  // empty where it is green
};

// In the order in which to look at them: what stands in the way of the next comes first.
std::vector<Gate> doctor_gates(const DoctorFacts& facts);

nlohmann::json to_json(const Gate& gate);

}  // namespace anymps::lab::runbook::doctor
