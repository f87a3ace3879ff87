// Reads documents of the runbook, a list as JSON, from standard input, and writes them as the commands would. What a
// command does not write is lost on the way, and what it always writes is added: tests/cli/test_report_documents.py
// holds the documents of other tests against that.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/runbook/decide/document.h"
#include "lab/runbook/doctor/document.h"
#include "lab/runbook/handoff/document.h"
#include "lab/runbook/parity/document.h"
#include "lab/runbook/plateau/document.h"
#include "lab/runbook/profile/document.h"
#include "lab/runbook/sweep/document.h"

namespace {

using nlohmann::json;
namespace runbook = anymps::lab::runbook;

template <typename Document>
json rewritten(const json& document) {
  return runbook::document::to_json(runbook::document::described_from<Document>(document));
}

}  // namespace

int main() {
  const std::map<std::string, json (*)(const json&)> verbs = {
      {"decide", rewritten<runbook::decide::DecideDocument>},
      {"doctor", rewritten<runbook::doctor::DoctorDocument>},
      {"handoff pack", rewritten<runbook::handoff::PackDocument>},
      {"handoff smoke", rewritten<runbook::handoff::SmokeDocument>},
      {"handoff verify", rewritten<runbook::handoff::VerifyDocument>},
      {"parity", rewritten<runbook::parity::ParityDocument>},
      {"plateau", rewritten<runbook::plateau::PlateauDocument>},
      {"profile", rewritten<runbook::profile::ProfileDocument>},
      {"sweep", rewritten<runbook::sweep::SweepDocument>},
  };
  auto answers = json::array();
  for (const json& document : json::parse(std::cin)) {
    answers.push_back(verbs.at(document.at("verb").get<std::string>())(document));
  }
  std::cout << answers << "\n";
}
