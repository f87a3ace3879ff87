#include "lab/runbook/report/publishable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/runbook/doctor/document.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/plateau/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::report {
namespace {

using nlohmann::json;

// The newest of a verb that `fits`; null where there is none.
template <typename Fits>
const logbook::FinishedRun* newest(const std::vector<logbook::FinishedRun>& all, std::string_view verb,
                                   const Fits& fits) {
  const auto found =
      std::ranges::find_if(all, [&](const logbook::FinishedRun& run) { return run.verb() == verb && fits(run); });
  return found != all.end() ? &*found : nullptr;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// All gates with one of these words in their names are there and green.
Requirement gates_green(std::string name, const logbook::FinishedRun* run, std::initializer_list<const char*> words) {
  Requirement requirement{std::move(name), false, "there is no doctor run for this host", "anymps doctor"};
  if (run == nullptr) return requirement;
  const auto gates = document::described_from<doctor::DoctorDocument>(run->document).gates;
  requirement.found.clear();
  for (const char* word : words) {
    bool known = false;
    for (const doctor::Gate& gate : gates) {
      if (lower(gate.name).find(word) == std::string::npos) continue;
      known = true;
      if (gate.state != doctor::GateState::kGreen) {
        requirement.found =
            fmt::format("{}: the gate \"{}\" is {}", run->name, gate.name, document::word_of(gate.state));
      }
    }
    if (!known) requirement.found = fmt::format("{} has no gate \"{}\"", run->name, word);
  }
  if (requirement.found.empty()) {
    requirement = {std::move(requirement.name), true, fmt::format("{}: green", run->name), ""};
  }
  return requirement;
}

// Memory that keeps rising ends the run sooner or later, and with it the throughput.
Requirement flat_curve(const logbook::FinishedRun* run, const std::string& command) {
  const std::string again = "anymps plateau -- " + command;
  if (run == nullptr) return {"memory curve", false, "there is no plateau run of this command", again};
  const auto head = document::described_from<document::Head>(run->document);
  const document::Verdict verdict = head.verdict.value_or(document::Verdict::kUnknown);
  const bool flat = verdict == document::Verdict::kGood;
  return {"memory curve", flat, fmt::format("{}, verdict {}", run->name, word_of(verdict)), flat ? "" : again};
}

bool has_throughput(const logbook::FinishedRun& sweep) {
  return std::ranges::any_of(document::list_in(sweep.document, "series"), [](const json& series) {
    return std::ranges::any_of(document::list_in(series, "points"), [](const json& point) {
      return document::words_in(point, "outcome") == "ran" &&
             document::number_in(point, "samples_per_second").has_value();
    });
  });
}

}  // namespace

bool Publishable::yes() const { return !simulated && std::ranges::all_of(behind, &Requirement::met); }

std::string Publishable::sentence() const {
  if (yes()) return "Publishable: all four are behind it.";
  const auto missing = std::ranges::count(behind, false, &Requirement::met);
  std::string text = "Not publishable";
  if (simulated) text += " as a Mac's throughput: it was measured on a simulated device";
  if (missing != 0) {
    text += fmt::format("{} {} of 4 {} missing", simulated ? ", and" : ":", missing, missing == 1 ? "is" : "are");
  }
  return text + ".";
}

Publishable judge_throughput(const logbook::FinishedRun& sweep, const std::vector<logbook::FinishedRun>& all) {
  const std::string argument = document::words_in(sweep.document, "argument");
  const std::string command = section::command_line(document::list_in(sweep.document, "command"));
  Publishable judged{sweep, sweep.simulated(), {}};
  const logbook::FinishedRun* doctor =
      newest(all, "doctor", [&](const logbook::FinishedRun& run) { return run.host() == sweep.host(); });
  judged.behind.push_back(gates_green("architecture proof", doctor, {"architecture"}));
  judged.behind.push_back(gates_green("device log", doctor, {"is_available", "matmul"}));
  judged.behind.push_back(has_throughput(sweep)
                              ? Requirement{"batch sweep", true, sweep.name, ""}
                              : Requirement{"batch sweep", false, sweep.name + " has no point that ran",
                                            fmt::format("anymps sweep{} -- {}",
                                                        argument.empty() ? "" : " --batch-arg " + argument, command)});
  const logbook::FinishedRun* plateau = newest(all, "plateau", [&](const logbook::FinishedRun& run) {
    return run.host() == sweep.host() && logbook::same_command(run, sweep, argument) &&
           document::described_from<plateau::PlateauDocument>(run.document).measured.curve.epochs.size() > 1;
  });
  judged.behind.push_back(flat_curve(plateau, command));
  return judged;
}

json to_json(const Publishable& judged) {
  json behind = json::array();
  for (const Requirement& requirement : judged.behind) {
    behind.push_back({{"name", requirement.name},
                      {"met", requirement.met},
                      {"found", requirement.found},
                      {"command", requirement.command}});
  }
  return {{"run", judged.sweep.id},        {"name", judged.sweep.name}, {"publishable", judged.yes()},
          {"simulated", judged.simulated}, {"why", judged.sentence()},  {"behind", std::move(behind)}};
}

}  // namespace anymps::lab::runbook::report
