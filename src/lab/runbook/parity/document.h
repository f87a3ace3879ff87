// The document of `anymps parity`.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/document/described.h"
#include "lab/runbook/document/head.h"
#include "lab/runbook/document/outcome.h"

namespace anymps::lab::runbook::parity {

// A layer's output or a gradient, on one device and on the reference. A figure that is infinite is
// none when it is read back.
struct TensorDifference {
  std::string name;
  std::string kind;   // of the layer
  std::string dtype;  // both, where they differ
  std::optional<std::uint64_t> max_ulps;
  std::optional<double> max_relative;
  std::optional<double> max_element_relative;
  std::optional<double> max_absolute;
  std::uint64_t elements = 0;
  std::uint64_t not_finite = 0;
  std::optional<double> limit;  // of max_relative
  bool over = false;
  bool random = false;  // dropout has its say in it: it is shown, and not judged

  double relative() const { return max_relative.value_or(std::numeric_limits<double>::infinity()); }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("kind", self.kind);
    fields("dtype", self.dtype);
    fields("max_ulps", self.max_ulps);
    fields("max_relative", self.max_relative);
    fields("max_element_relative", self.max_element_relative);
    fields("max_absolute", self.max_absolute);
    fields("elements", self.elements);
    fields("not_finite", self.not_finite);
    fields("limit", self.limit);
    fields("over", self.over);
    fields("random", self.random);
  }
};

// The losses of one step.
struct StepDifference {
  std::uint64_t step = 0;  // from 1 on
  std::optional<double> loss;
  std::optional<double> reference_loss;
  std::optional<double> relative;
  std::optional<std::uint64_t> ulps;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("step", self.step);
    fields("loss", self.loss);
    fields("reference_loss", self.reference_loss);
    fields("relative", self.relative);
    fields("ulps", self.ulps);
  }
};

struct Drift {
  std::optional<double> last_relative;  // of the losses of the last step
  std::optional<double> limit;
  std::optional<double> decades_per_step;  // by how many powers of ten the difference grows

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("last_relative", self.last_relative);
    fields("limit", self.limit);
    fields("decades_per_step", self.decades_per_step);
  }
};

// One device against the reference.
struct Comparison {
  std::string device;
  document::Outcome outcome = document::Outcome::kNotStarted;
  std::string why;
  std::string output;  // the last lines that it printed, where it did not run
  std::vector<TensorDifference> layers;
  std::vector<TensorDifference> gradients;
  std::vector<StepDifference> steps;
  std::optional<Drift> drift;              // none: nothing was compared
  std::optional<std::string> random_from;  // the layer from which on dropout has its say
  std::vector<std::string> findings;       // sentences, each of which makes the verdict bad

  bool ran() const { return outcome == document::Outcome::kRan; }

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("device", self.device);
    fields("outcome", self.outcome);
    fields("why", self.why);
    fields("output", self.output);
    fields("layers", self.layers);
    fields("gradients", self.gradients);
    fields("steps", self.steps);
    fields("drift", self.drift);
    fields("random_from", self.random_from);
    fields("findings", self.findings);
  }
};

// A number that the script prints.
struct Metric {
  std::string name;
  std::optional<double> tolerance;
  std::map<std::string, std::optional<double>> values;  // by device; none where it printed none that is finite
  bool within = false;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("tolerance", self.tolerance);
    fields("values", self.values);
    fields("within", self.within);
  }
};

// The file of reviewed differences that the run was held against.
struct ReviewedTable {
  std::string path;
  bool updated = false;  // it was written instead
  double slack = 0;
  std::vector<std::string> changed;  // sentences

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("path", self.path);
    fields("updated", self.updated);
    fields("slack", self.slack);
    fields("changed", self.changed);
  }
};

// One of Apple's own kernels against the CPU's: python/anymps/_lab/genuine.py writes these.
struct GenuineKernel {
  std::string op;
  std::string kernel;
  std::uint64_t elements = 0;
  std::uint64_t max_ulps = 0;
  double max_relative = 0;
  std::uint64_t not_finite = 0;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("operator", self.op);
    fields("kernel", self.kernel);
    fields("elements", self.elements);
    fields("max_ulps", self.max_ulps);
    fields("max_relative", self.max_relative);
    fields("not_finite", self.not_finite);
  }
};

// The dtypes of a kind of layer. Where the devices disagree, the texts name them.
struct LayerDtypes {
  std::string kind;
  std::string weight;
  std::string output;
  std::string statistics;
  std::string gradient;
  bool disagree = false;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("kind", self.kind);
    fields("weight", self.weight);
    fields("output", self.output);
    fields("statistics", self.statistics);
    fields("gradient", self.gradient);
    fields("disagree", self.disagree);
  }
};

struct ParityDocument {
  document::Head head;
  std::string reference;
  std::int64_t seed = 0;
  bool no_dropout = false;
  std::vector<Comparison> comparisons;
  std::optional<Metric> metric;
  std::optional<ReviewedTable> table;
  std::vector<GenuineKernel> genuine;
  std::optional<std::string> output;  // the last lines of a reference that did not run
  std::vector<LayerDtypes> dtype_policy;
  std::vector<std::string> findings;  // what the reasons for the verdict are
  std::vector<std::string> notes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    document::Head::describe(fields, self.head);
    fields("reference", self.reference);
    fields("seed", self.seed);
    fields("no_dropout", self.no_dropout);
    fields("comparisons", self.comparisons);
    fields("metric", self.metric);
    fields("table", self.table);
    fields("genuine", self.genuine);
    fields.if_any("output", self.output);
    fields("dtype_policy", self.dtype_policy);
    fields("findings", self.findings);
    fields("notes", self.notes);
  }
};

}  // namespace anymps::lab::runbook::parity
