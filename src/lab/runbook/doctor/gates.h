// The gates before a training: what must hold (red), what makes figures doubtful (yellow), what is in order (green).
// Pure functions of facts, so that those of a Mac are judged by the same code anywhere.
#pragma once

#include <vector>

#include "lab/runbook/doctor/document.h"
#include "lab/runbook/doctor/facts.h"

namespace anymps::lab::runbook::doctor {

// In the order in which to look at them: what stands in the way of the next comes first.
std::vector<Gate> doctor_gates(const DoctorFacts& facts);

}  // namespace anymps::lab::runbook::doctor
