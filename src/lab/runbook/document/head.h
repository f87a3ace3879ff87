// What the documents of all commands have in common. Session::finish() fills it in.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/verdict.h"

namespace anymps::lab::runbook::document {

// Of the documents' fields: a program that reads them can tell by it.
constexpr int kVersion = 1;

struct Head {
  int version = kVersion;
  std::string verb;
  std::int64_t run = 0;  // in the logbook
  std::optional<Verdict> verdict;
  int status = 2;
  std::vector<std::string> command;
  nlohmann::json facts = nlohmann::json::object();  // the circumstances, by name
  std::vector<nlohmann::json> samples;              // thermal state, swap and the like, as they were from time to time

  // That a simulated device was measured.
  bool simulated() const {
    const auto found = facts.find("simulated");
    return found != facts.end() && *found == true;
  }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("version", self.version);
    fields("verb", self.verb);
    fields("run", self.run);
    fields("verdict", self.verdict);
    fields("status", self.status);
    fields("command", self.command);
    fields("facts", self.facts);
    fields("samples", self.samples);
  }
};

}  // namespace anymps::lab::runbook::document
