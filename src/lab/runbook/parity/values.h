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
  std::string device;       // as the script was told
  std::string used_device;  // where its parameters were; empty: not known
  std::string outcome;      // of lab/runbook/trial/trial.h
  std::string why;
  std::string output;  // last lines, where it did not run
  bool simulated = false;
  std::uint64_t steps = 0;
  std::vector<trial::RecordedValue> values;  // each pair of `what` and `name` once
  std::vector<trial::RecordedLoss> losses;
  std::vector<nlohmann::json> modules;
  std::vector<std::string> errors;
  nlohmann::json facts = nlohmann::json::object();
  std::optional<double> metric;
  std::filesystem::path values_path;

  bool ran() const { return outcome == trial::outcome_text(trial::Outcome::kRan); }

  // The elements; fewer than there should be where the file is short.
  std::vector<std::byte> read(const trial::RecordedValue& value) const;
};

// Copies the elements to `values_path`, and makes the part. `metric` is the name of a number that it printed, or empty.
nlohmann::json keep_run(const trial::Trial& trial, const std::string& device, const std::string& metric,
                        const std::filesystem::path& values_path);

// The part, read back. Throws std::runtime_error where the file is not there any more.
KeptRun kept_run(const nlohmann::json& part, const std::filesystem::path& values_path);

}  // namespace anymps::lab::runbook::parity
