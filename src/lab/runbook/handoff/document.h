// The documents of `anymps handoff pack`, `verify` and `smoke`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/handoff/difference.h"
#include "lab/runbook/handoff/environment.h"
#include "lab/runbook/handoff/manifest.h"
#include "lab/runbook/plateau/document.h"

namespace anymps::lab::runbook::handoff {

struct PackDocument {
  document::Head head;
  std::string bundle;
  std::string sha256;  // of the manifest
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the contents
  std::uint64_t archive_bytes = 0;
  Golden golden;
  std::vector<std::string> lockfiles;
  std::vector<LeftOut> left_out;
  std::vector<std::string> withheld;  // variables that look like secrets
  std::optional<DataSet> data;
  std::vector<std::string> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("bundle", self.bundle);
    fields("sha256", self.sha256);
    fields("files", self.files);
    fields("bytes", self.bytes);
    fields("archive_bytes", self.archive_bytes);
    fields("golden", self.golden);
    fields("lockfiles", self.lockfiles);
    fields("left_out", self.left_out);
    fields("withheld", self.withheld);
    fields("data", self.data);
    fields("notes", self.notes);
  }
};

struct VerifyDocument {
  document::Head head;
  std::string bundle;
  std::string sha256;
  std::uint64_t files = 0;
  std::optional<std::string> into;  // none: it was not unpacked
  Golden golden;
  std::vector<Difference> differences;
  std::vector<std::string> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("bundle", self.bundle);
    fields("sha256", self.sha256);
    fields("files", self.files);
    fields("into", self.into);
    fields("golden", self.golden);
    fields("differences", self.differences);
    fields("notes", self.notes);
  }
};

// Of the window. Rates are there where two steps were seen.
struct WindowFigures {
  std::uint64_t steps = 0;
  std::optional<double> steps_per_second;
  std::optional<double> step_seconds;
  std::optional<double> input_share;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<plateau::Measure> peak_measure;  // whose memory the peak is of
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> workers;
  std::string ended;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("steps", self.steps);
    fields("steps_per_second", self.steps_per_second);
    fields("step_seconds", self.step_seconds);
    fields("input_share", self.input_share);
    fields("peak_bytes", self.peak_bytes);
    fields.if_any("peak_measure", self.peak_measure);
    fields("batch", self.batch);
    fields("workers", self.workers);
    fields("ended", self.ended);
  }
};

// Of the plateau test.
struct SmokePlateau {
  plateau::MemoryCurve curve;
  std::optional<bool> holds;  // none: too few epochs to tell

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    plateau::MemoryCurve::describe(fields, self.curve);
    fields("holds", self.holds);
  }
};

struct Speed {
  double steps_per_second = 0;
  std::optional<double> input_share;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("steps_per_second", self.steps_per_second);
    fields("input_share", self.input_share);
  }
};

// The run here that a host is compared with.
struct LocalRun {
  std::int64_t run = 0;
  std::string verb;
  Speed figures;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("run", self.run);
    fields("verb", self.verb);
    fields("figures", self.figures);
  }
};

enum class Cause { kInput, kCache, kLoad, kEnvironment, kLogging, kHardware, kUnknown };

constexpr document::EnumWord<Cause> kCauseWords[] = {{Cause::kInput, "input"},     {Cause::kCache, "cache"},
                                                     {Cause::kLoad, "load"},       {Cause::kEnvironment, "environment"},
                                                     {Cause::kLogging, "logging"}, {Cause::kHardware, "hardware"},
                                                     {Cause::kUnknown, "unknown"}};
constexpr std::span<const document::EnumWord<Cause>> words_of(Cause /*value*/) { return kCauseWords; }

// Why two hosts differ in speed.
struct SpeedCause {
  Cause cause = Cause::kUnknown;
  std::string text;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("cause", self.cause);
    fields("text", self.text);
  }
};

struct SmokeDocument {
  document::Head head;
  std::string host;
  double rtt_seconds = 0;
  std::string folder;   // on that host
  bool copied = false;  // or it was there already
  std::string sha256;
  Golden golden;
  WindowFigures figures;
  SmokePlateau plateau;
  Environment environment;  // of that host
  std::vector<Difference> differences;
  std::optional<LocalRun> local;
  std::optional<double> speed_ratio;  // there over here
  std::vector<SpeedCause> explanation;
  std::vector<std::string> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("host", self.host);
    fields("rtt_seconds", self.rtt_seconds);
    fields("folder", self.folder);
    fields("copied", self.copied);
    fields("sha256", self.sha256);
    fields("golden", self.golden);
    fields("figures", self.figures);
    fields("plateau", self.plateau);
    fields("environment", self.environment);
    fields("differences", self.differences);
    fields("local", self.local);
    fields("speed_ratio", self.speed_ratio);
    fields("explanation", self.explanation);
    fields("notes", self.notes);
  }
};

}  // namespace anymps::lab::runbook::handoff
