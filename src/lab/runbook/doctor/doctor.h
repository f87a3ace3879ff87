// `anymps doctor`: the gates as a document.
#pragma once

#include <nlohmann/json.hpp>

#include "lab/runbook/doctor/document.h"
#include "lab/runbook/doctor/facts.h"
#include "lab/runbook/document/verdict.h"

namespace anymps::lab::runbook::doctor {

// But for its head.
DoctorDocument doctor_document(const DoctorFacts& facts, bool strict);

// Bad where a gate is red; where it is strict, also where one is yellow.
document::Verdict doctor_verdict(const DoctorDocument& document);

// What the logbook has as facts of any run: "torch", "python", "device", "threads".
nlohmann::json logged_facts(const DoctorFacts& facts);

}  // namespace anymps::lab::runbook::doctor
