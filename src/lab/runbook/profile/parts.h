// What each trial of a profile tells, as the logbook keeps it. A trial whose script never came to PyTorch tells nothing
// but that it failed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/outcome.h"

namespace anymps::lab::runbook::profile {

// A call that waits for the device.
struct WaitRow {
  std::string name;
  std::string site;
  std::uint64_t count = 0;
  double seconds = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("site", self.site);
    fields("count", self.count);
    fields("seconds", self.seconds);
  }
};

struct OperatorRow {
  std::string name;
  std::uint64_t count = 0;
  double self_seconds = 0;
  double queued_seconds = 0;
  double waited_seconds = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("count", self.count);
    fields("self_seconds", self.self_seconds);
    fields("queued_seconds", self.queued_seconds);
    fields("waited_seconds", self.waited_seconds);
  }
};

struct FallbackRow {
  std::string name;
  std::string site;
  std::uint64_t count = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("site", self.site);
    fields("count", self.count);
  }
};

// What was called while loading and belongs to no stage.
struct OtherCall {
  std::string function;
  std::string site;
  double share = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("function", self.function);
    fields("site", self.site);
    fields("share", self.share);
  }
};

// The run on a device that works beside the host (trace::ReplayedTimeline).
struct ModelledDevice {
  double host_seconds = 0;
  double busy_seconds = 0;
  double busy_share = 0;
  double queued_seconds = 0;
  double waited_seconds = 0;
  std::uint64_t kernels = 0;
  std::uint64_t waits = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("host_seconds", self.host_seconds);
    fields("busy_seconds", self.busy_seconds);
    fields("busy_share", self.busy_share);
    fields("queued_seconds", self.queued_seconds);
    fields("waited_seconds", self.waited_seconds);
    fields("kernels", self.kernels);
    fields("waits", self.waits);
  }
};

// The steps after the warm-up.
struct StepWindow {
  double step_seconds = 0;
  double step_low = 0;
  double step_high = 0;
  std::uint64_t steps = 0;
  double first_step_seconds = 0;
  std::optional<double> first_epoch_step_seconds;
  std::optional<double> steady_step_seconds;
  double input_share = 0;
  double samples_per_step = 0;
  double window_seconds = 0;
  std::string epoch_window;
  std::vector<WaitRow> waits;
  std::string device;
  bool simulated = false;
  std::uint64_t peak_bytes = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("step_seconds", self.step_seconds);
    fields("step_low", self.step_low);
    fields("step_high", self.step_high);
    fields("steps", self.steps);
    fields("first_step_seconds", self.first_step_seconds);
    fields("first_epoch_step_seconds", self.first_epoch_step_seconds);
    fields("steady_step_seconds", self.steady_step_seconds);
    fields("input_share", self.input_share);
    fields("samples_per_step", self.samples_per_step);
    fields("window_seconds", self.window_seconds);
    fields("epoch_window", self.epoch_window);
    fields("waits", self.waits);
    fields("device", self.device);
    fields("simulated", self.simulated);
    fields("peak_bytes", self.peak_bytes);
  }
};

// What every trial may tell of its end.
struct TrialEnd {
  std::optional<document::Failure> failure;
  std::optional<std::string> error;  // the recorder's

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields.if_any("failure", self.failure);
    fields.if_any("error", self.error);
  }
};

// The whole script.
struct FullPart {
  TrialEnd end;
  std::optional<StepWindow> window;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    TrialEnd::describe(fields, self.end);
    fields.together(self.window);
  }
};

struct TracedOperators {
  std::vector<OperatorRow> operators;  // what took longest first
  std::vector<FallbackRow> fallbacks;
  double device_share = 0;
  double fallback_share = 0;
  std::optional<ModelledDevice> modelled;
  double waits_per_step = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("operators", self.operators);
    fields("fallbacks", self.fallbacks);
    fields("device_share", self.device_share);
    fields("fallback_share", self.fallback_share);
    fields("modelled", self.modelled);
    fields("waits_per_step", self.waits_per_step);
  }
};

// The whole script, with every operator traced.
struct OperatorsPart {
  TrialEnd end;
  std::optional<TracedOperators> traced;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    TrialEnd::describe(fields, self.end);
    fields.together(self.traced);
  }
};

// Nothing but loading.
struct LoadingPart {
  TrialEnd end;
  std::optional<double> batch_seconds;
  std::optional<std::uint64_t> batches;
  std::optional<std::uint64_t> descriptors;
  std::optional<std::uint64_t> resident_bytes;
  std::optional<std::uint64_t> processes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    TrialEnd::describe(fields, self.end);
    fields.if_any("batch_seconds", self.batch_seconds);
    fields.if_any("batches", self.batches);
    fields.if_any("descriptors", self.descriptors);
    fields.if_any("resident_bytes", self.resident_bytes);
    fields.if_any("processes", self.processes);
  }
};

// Where the time of loading goes.
struct LoadingStages {
  std::map<std::string, double> stages;  // shares, by the recorder's names (python/anymps/_lab/spec.py)
  std::vector<OtherCall> others;         // what took longest first

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("stages", self.stages);
    fields("others", self.others);
  }
};

struct StagesPart {
  TrialEnd end;
  LoadingStages loading;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    TrialEnd::describe(fields, self.end);
    LoadingStages::describe(fields, self.loading);
  }
};

// Nothing but the model's call, on one fixed batch.
struct ForwardPart {
  TrialEnd end;
  std::optional<double> seconds;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    TrialEnd::describe(fields, self.end);
    fields.if_any("seconds", self.seconds);
  }
};

// Nothing but loading, with so many workers.
struct WorkersRow {
  LoadingPart loading;
  std::uint64_t workers = 0;
  document::Outcome outcome = document::Outcome::kNotStarted;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    LoadingPart::describe(fields, self.loading);
    fields("workers", self.workers);
    fields("outcome", self.outcome);
  }
};

}  // namespace anymps::lab::runbook::profile
