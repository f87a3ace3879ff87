// What parity keeps of one device's run: a part of the logbook, and beside the logbook a file with the elements of the
// tensors, which are too many for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/exact_number.h"
#include "lab/runbook/document/outcome.h"
#include "lab/runbook/trial/recording.h"
#include "lab/runbook/trial/trial.h"

namespace anymps::lab::runbook::parity {

// The folder of a run's files. It is there until the run is finished, so that an interrupted one can go on.
class ParityFolder {
 public:
  ParityFolder(const std::filesystem::path& logbook, std::int64_t run);

  // Made with its folder. Throws std::runtime_error where it cannot be.
  std::filesystem::path values_path(const std::string& device) const;
  void remove() const;

 private:
  std::filesystem::path path_;
};

struct KeptRun {
  std::string device;  // as the script was told
  document::Outcome outcome = document::Outcome::kNotStarted;
  std::optional<document::Failure> failure;
  std::optional<document::ExactNumber> metric;
  nlohmann::json facts = nlohmann::json::object();
  std::uint64_t steps = 0;
  std::vector<trial::RecordedValue> values;  // each pair of `what` and `name` once
  std::vector<trial::RecordedLoss> losses;
  std::vector<trial::RecordedModule> modules;
  std::vector<std::string> errors;
  std::vector<std::string> operators;  // that it called on the device, where those are looked at
  std::filesystem::path values_path;   // which is no part of the logbook

  bool ran() const { return outcome == document::Outcome::kRan; }
  // Where its parameters were; empty: not known.
  std::string used_device() const;
  bool simulated() const;

  // The elements; fewer than there should be where the file is short.
  std::vector<std::byte> read(const trial::RecordedValue& value) const;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("device", self.device);
    fields("outcome", self.outcome);
    fields.if_any("failure", self.failure);
    fields("metric", self.metric);
    fields("facts", self.facts);
    fields("steps", self.steps);
    fields("values", self.values);
    fields("losses", self.losses);
    fields("modules", self.modules);
    fields("errors", self.errors);
    fields("operators", self.operators);
  }
};

// Copies the elements to `values_path`. `metric` is the name of a number that it printed, or empty.
KeptRun keep_run(const trial::Trial& trial, const std::string& device, const std::string& metric,
                 const std::filesystem::path& values_path);

// The part of the logbook, read back. Throws std::runtime_error where the file is not there any more.
KeptRun kept_run(const nlohmann::json& part, const std::filesystem::path& values_path);

}  // namespace anymps::lab::runbook::parity
