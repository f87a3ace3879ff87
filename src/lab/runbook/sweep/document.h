// The document of `anymps sweep`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/document/outcome.h"

namespace anymps::lab::runbook::sweep {

struct SweepPoint {
  std::uint64_t batch = 0;
  document::Outcome outcome = document::Outcome::kNotStarted;
  std::string why;
  std::string output;  // the last lines that it printed, where it did not run
  double samples_per_second = 0;
  double samples_low = 0;
  double samples_high = 0;
  double step_seconds = 0;
  double first_step_seconds = 0;
  std::uint64_t steady_steps = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t resident_bytes = 0;  // of all processes
  std::uint64_t limit_bytes = 0;     // at which PyTorch refuses; 0: none known

  bool ran() const { return outcome == document::Outcome::kRan; }
  std::optional<double> first_over_steady() const { return share(first_step_seconds, step_seconds); }
  std::optional<double> watermark_share() const {
    return share(static_cast<double>(peak_bytes), static_cast<double>(limit_bytes));
  }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("batch", self.batch);
    fields("outcome", self.outcome);
    fields("why", self.why);
    fields("output", self.output);
    fields("samples_per_second", self.samples_per_second);
    fields("samples_low", self.samples_low);
    fields("samples_high", self.samples_high);
    fields("step_seconds", self.step_seconds);
    fields("first_step_seconds", self.first_step_seconds);
    fields.derived("first_over_steady", self.first_over_steady());
    fields("steady_steps", self.steady_steps);
    fields("peak_bytes", self.peak_bytes);
    fields("resident_bytes", self.resident_bytes);
    fields("limit_bytes", self.limit_bytes);
    fields.derived("watermark_share", self.watermark_share());
  }

 private:
  static std::optional<double> share(double part, double whole) {
    return whole > 0 ? std::optional(part / whole) : std::nullopt;
  }
};

// The smallest batch that is nearly as fast as any.
struct Knee {
  std::uint64_t batch = 0;
  double samples_per_second = 0;
  std::string why;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("batch", self.batch);
    fields("samples_per_second", self.samples_per_second);
    fields("why", self.why);
  }
};

// Where memory ends.
struct Edge {
  std::uint64_t largest_good = 0;
  std::optional<std::uint64_t> smallest_bad;  // none: the edge is a limit, at which nothing failed
  bool extrapolated = false;                  // largest_good was not run
  std::string why;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("largest_good", self.largest_good);
    fields("smallest_bad", self.smallest_bad);
    fields("extrapolated", self.extrapolated);
    fields("why", self.why);
  }
};

struct Recommendation {
  std::uint64_t batch = 0;
  double margin = 0;
  std::uint64_t verified_steps = 0;
  std::uint64_t peak_bytes = 0;
  double samples_per_second = 0;
  std::string why;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("batch", self.batch);
    fields("margin", self.margin);
    fields("verified_steps", self.verified_steps);
    fields("peak_bytes", self.peak_bytes);
    fields("samples_per_second", self.samples_per_second);
    fields("why", self.why);
  }
};

struct SweepSeries {
  std::map<std::string, std::string> axes;  // what the other options of the command were
  std::vector<SweepPoint> points;           // by batch, ascending
  std::optional<Knee> knee;
  std::optional<Edge> edge;
  std::optional<Recommendation> recommended;
  std::vector<std::string> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("axes", self.axes);
    fields("points", self.points);
    fields("knee", self.knee);
    fields("edge", self.edge);
    fields("recommended", self.recommended);
    fields("notes", self.notes);
  }
};

struct SweepDocument {
  document::Head head;
  std::string argument;  // the command's option for the batch size, or a variable
  std::optional<std::string> mac;
  std::optional<std::uint64_t> max_buffer_bytes;
  std::vector<SweepSeries> series;
  std::vector<std::string> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("argument", self.argument);
    fields("mac", self.mac);
    fields("max_buffer_bytes", self.max_buffer_bytes);
    fields("series", self.series);
    fields("notes", self.notes);
  }
};

}  // namespace anymps::lab::runbook::sweep
