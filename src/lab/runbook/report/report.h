// The report: one self-contained HTML page of runs of the runbook. Its curves are there without scripts; the script
// that it has reads points out and sorts tables. The page forbids itself the network, and scripts other than its own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/runbook/logbook/finished_run.h"

namespace anymps::lab::runbook::report {

struct Report {
  std::string html;
  nlohmann::json document;  // what went into it: "sections" and "publishable"
};

// Of the newest command: of each verb its newest run; with `side_by_side` one for each setting, such as another Mac.
// `all` is newest first.
std::vector<logbook::FinishedRun> choose_runs(const std::vector<logbook::FinishedRun>& all, bool side_by_side);

// `all` are the runs among which evidence is looked for, newest first; the chosen are among them.
Report make_report(const std::vector<logbook::FinishedRun>& chosen, const std::vector<logbook::FinishedRun>& all);

}  // namespace anymps::lab::runbook::report
