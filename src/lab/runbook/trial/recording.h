// What the recorder (python/anymps/_lab) wrote of a script, read back. Trusts nothing in the files: a process may have
// been killed in the middle of a line, and lines that are none are left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/exact_number.h"

namespace anymps::lab::runbook::trial {

struct RecordedStep {
  std::uint64_t time_ns = 0;  // of its end, on the system's monotonic clock
  std::uint64_t index = 0;
  std::uint64_t samples = 0;   // that loaders gave since the step before; 0 where the script cuts its own batches
  std::uint64_t input_ns = 0;  // that the script waited for loaders since then
  std::uint64_t backwards = 0;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t driver_bytes = 0;
  std::string site;
};

struct RecordedEpoch {
  std::uint64_t index = 0;
  std::uint64_t steps = 0;
  std::uint64_t tensor_bytes = 0;   // at its end
  std::uint64_t flushed_bytes = 0;  // after the garbage was collected and the cache emptied
  std::uint64_t driver_bytes = 0;
  std::uint64_t resident_bytes = 0;
  double seconds = 0;
};

// A batch that was loaded, or a call of the model, where nothing else was done.
struct RecordedRound {
  double seconds = 0;
  std::uint64_t samples = 0;
  bool counts = true;  // past the warm-up
};

struct RecordedWait {
  std::string name;
  std::string site;
  std::uint64_t count = 0;
  double seconds = 0;
};

// Elements of a tensor, in the process's .values file.
struct RecordedValue {
  std::string what;  // "layer" or "gradient"
  std::string name;
  std::string kind;
  std::uint64_t step = 0;
  std::string dtype;  // of the tensor
  std::string kept;   // of the elements in the file
  std::uint64_t count = 0;
  std::uint64_t offset = 0;
  nlohmann::json shape = nlohmann::json::array();

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("what", self.what);
    fields("name", self.name);
    fields("kind", self.kind);
    fields("step", self.step);
    fields("dtype", self.dtype);
    fields("kept", self.kept);
    fields("count", self.count);
    fields("offset", self.offset);
    fields("shape", self.shape);
  }
};

struct RecordedLoss {
  std::uint64_t step = 0;
  document::ExactNumber value;
  std::string dtype;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("step", self.step);
    fields("value", self.value);
    fields("dtype", self.dtype);
  }
};

// A layer, with the dtypes of its parameters and running statistics where it has them.
struct RecordedModule {
  std::string name;
  std::string kind;
  std::optional<std::string> weight;
  std::optional<std::string> statistics;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("kind", self.kind);
    fields("weight", self.weight);
    fields("statistics", self.statistics);
  }
};

struct RecordedProcess {
  std::int64_t pid = 0;
  bool is_main = false;
  nlohmann::json begin;  // python, torch, machine, threads, ...
  nlohmann::json facts = nlohmann::json::object();
  std::vector<nlohmann::json> loaders;
  std::vector<RecordedStep> steps;
  std::vector<RecordedEpoch> epochs;
  // Of the last epochs: by line, [bytes, tensors, an example]. One object an epoch, from the second on.
  std::vector<nlohmann::json> sites;
  std::vector<RecordedRound> loads;
  std::vector<RecordedRound> forwards;
  std::vector<RecordedWait> waits;
  std::vector<nlohmann::json> fetches;  // ns, and stages in ns
  std::vector<nlohmann::json> uses;     // descriptors and resident bytes
  std::vector<RecordedValue> values;
  std::vector<RecordedLoss> losses;
  std::vector<RecordedModule> modules;
  std::vector<std::string> errors;
  std::uint64_t window_begin_ns = 0;  // the device was waited for at both; 0 where it was not reached
  std::uint64_t window_end_ns = 0;
  std::uint64_t window_begin_step = 0;
  std::uint64_t window_end_step = 0;
  std::string ended;   // "window", "epochs", "script"; empty: it was killed, or still runs
  std::string stacks;  // where its threads were when the lab asked
  std::filesystem::path values_path;
};

struct Recording {
  std::vector<RecordedProcess> processes;  // the script's own first

  // The process that took the steps, else the first; nullptr where torch was never imported.
  const RecordedProcess* main() const;
};

// Throws std::runtime_error where a file cannot be read, or where the script could not write all of its lines.
Recording read_recording(const std::filesystem::path& folder);

// What the logbook keeps of a recording, by the names that docs/logbook.md lists.
nlohmann::json facts_of(const RecordedProcess& process);

}  // namespace anymps::lab::runbook::trial
