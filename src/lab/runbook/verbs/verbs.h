// The commands of the runbook whose runs the logbook keeps: how each one's document is shown, and what it comes to.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/base/terminal.h"
#include "lab/runbook/document/figure.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::verbs {

struct Verb {
  std::string_view name;
  std::string_view title;  // of its section in the report
  std::string_view about;  // a sentence below the title
  std::string (*screen)(const nlohmann::json& document, const base::Terminal& terminal);
  std::string (*section)(const section::ReportRuns& runs);
  std::string (*headline)(const nlohmann::json& document);  // what a document comes to, in one line; may be empty
  std::vector<document::Figure> (*figures)(const nlohmann::json& document);
};

// In the order of the report: the decision first, then what it rests on.
std::span<const Verb> all_verbs();

// Null where there is none of that name.
const Verb* verb_named(std::string_view name);

}  // namespace anymps::lab::runbook::verbs
