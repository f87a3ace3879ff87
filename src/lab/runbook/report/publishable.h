// Whether a throughput may be promised to others. Only with four things behind it: that the interpreter is of the
// machine's own architecture, that the device was there and computed, a sweep over batch sizes, and a memory curve of
// the same command. One that was measured on a simulated device is never that of a Mac.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/runbook/logbook/finished_run.h"

namespace anymps::lab::runbook::report {

struct Requirement {
  std::string name;
  bool met = false;
  std::string found;    // what there is, or why it does not do
  std::string command;  // that makes it; empty where it is met
};

struct Publishable {
  logbook::FinishedRun sweep;
  bool simulated = false;
  std::vector<Requirement> behind;  // all four

  bool yes() const;
  std::string sentence() const;
};

// `all` holds the runs, newest first, among which the other three are looked for.
Publishable judge_throughput(const logbook::FinishedRun& sweep, const std::vector<logbook::FinishedRun>& all);

nlohmann::json to_json(const Publishable& judged);

}  // namespace anymps::lab::runbook::report
