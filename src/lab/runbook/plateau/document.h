// The document of `anymps plateau`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/enum_words.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/document/outcome.h"
#include "lab/runbook/document/verdict.h"

namespace anymps::lab::runbook::plateau {

// The fewest epochs to judge by.
constexpr std::size_t kFewestEpochs = 3;
// The rise over all epochs that is too much, where nobody says another one.
constexpr double kUsualThreshold = 0.26;

// Which memory is judged.
enum class Measure {
  kTensors,
  kResident,  // where the training is on the CPU
};

constexpr document::EnumWord<Measure> kMeasureWords[] = {{Measure::kTensors, "tensors"},
                                                         {Measure::kResident, "resident"}};
constexpr std::span<const document::EnumWord<Measure>> words_of(Measure /*value*/) { return kMeasureWords; }

struct Epoch {
  std::uint64_t index = 0;
  std::uint64_t steps = 0;
  double seconds = 0;
  std::uint64_t tensor_bytes = 0;   // at its end
  std::uint64_t flushed_bytes = 0;  // after the garbage was collected and the cache emptied
  std::uint64_t driver_bytes = 0;
  std::uint64_t resident_bytes = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("index", self.index);
    fields("steps", self.steps);
    fields("seconds", self.seconds);
    fields("tensor_bytes", self.tensor_bytes);
    fields("flushed_bytes", self.flushed_bytes);
    fields("driver_bytes", self.driver_bytes);
    fields("resident_bytes", self.resident_bytes);
  }
};

struct Slope {
  double bytes_per_epoch = 0;  // by least squares
  std::optional<double> low;   // 95% confidence; none of two values, through which any slope may go
  std::optional<double> high;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("bytes_per_epoch", self.bytes_per_epoch);
    fields("low", self.low);
    fields("high", self.high);
  }
};

// A line whose tensors stay.
struct GrowingSite {
  std::string site;
  double bytes_per_epoch = 0;
  double count_per_epoch = 0;
  std::string example;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("site", self.site);
    fields("bytes_per_epoch", self.bytes_per_epoch);
    fields("count_per_epoch", self.count_per_epoch);
    fields("example", self.example);
  }
};

// What is left after each epoch's flush, judged.
struct MemoryCurve {
  std::vector<Epoch> epochs;
  Measure measure = Measure::kTensors;
  std::optional<Slope> slope;
  std::optional<double> rise_share;  // from the first epoch to the last, carried on to as many as were asked for
  bool grows = true;                 // not where it falls by as much as half of that, with a slope that may be 0
  std::optional<double> threshold;   // of the rise; none that JSON can tell where any rise is allowed
  std::vector<GrowingSite> sites;    // most bytes first
  std::vector<std::string> notes;

  bool is_beyond_threshold() const { return rise_share && threshold && *rise_share > *threshold; }

  // Bad is what grows, and rises beyond the threshold.
  document::Verdict verdict() const {
    if (epochs.size() < kFewestEpochs) return document::Verdict::kUnknown;
    return is_beyond_threshold() && grows ? document::Verdict::kBad : document::Verdict::kGood;
  }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("epochs", self.epochs);
    fields("measure", self.measure);
    fields("slope", self.slope);
    fields("rise_share", self.rise_share);
    fields("grows", self.grows);
    fields("threshold", self.threshold);
    fields("sites", self.sites);
    fields("notes", self.notes);
  }
};

// What one run of the command tells.
struct MeasuredCurve {
  MemoryCurve curve;
  bool simulated = false;
  std::uint64_t steps = 0;
  std::optional<document::Failure> failure;

  document::Verdict verdict() const { return failure ? document::Verdict::kBad : curve.verdict(); }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    MemoryCurve::describe(fields, self.curve);
    fields("simulated", self.simulated);
    fields("steps", self.steps);
    fields.if_any("failure", self.failure);
    fields.derived("verdict", self.verdict());
  }
};

struct PlateauDocument {
  document::Head head;
  MeasuredCurve measured;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    MeasuredCurve::describe(fields, self.measured);
    document::Head::describe(fields, self.head);  // after the other, whose verdict is for the part alone
  }
};

}  // namespace anymps::lab::runbook::plateau
