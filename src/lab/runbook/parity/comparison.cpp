#include "lab/runbook/parity/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace anymps::lab::runbook::parity {
namespace {

constexpr double kStepsOfDtype = 8;
constexpr double kFewestPoints = 5;  // of a slope

std::optional<double> if_finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

std::string short_number(double value) { return fmt::format("{:.3g}", value); }

const trial::RecordedValue* find(const KeptRun& run, const trial::RecordedValue& like) {
  const auto found = std::ranges::find_if(run.values, [&like](const trial::RecordedValue& value) {
    return value.what == like.what && value.name == like.name && value.step == like.step;
  });
  return found != run.values.end() ? &*found : nullptr;
}

// The pairs of one kind of tensor, and what is to be said of them.
class Tensors {
 public:
  Tensors(const KeptRun& reference, const KeptRun& other, const ParityLimits& limits, std::string what)
      : reference_(reference), other_(other), limits_(limits), what_(std::move(what)) {}

  // From the first dropout on that differs, or from the beginning, rows are random.
  void compare(bool random) {
    random_ = random;
    for (const trial::RecordedValue& value : reference_.values) {
      if (value.what != what_) continue;
      const trial::RecordedValue* const twin = find(other_, value);
      if (twin == nullptr) {
        findings_.push_back(fmt::format("{} {} ({}) is on {} only", what_, value.name, value.kind, reference_.device));
      } else if (value.shape != twin->shape) {
        findings_.push_back(fmt::format("{} {} has shape {} on {} and {} on {}", what_, value.name, value.shape.dump(),
                                        reference_.device, twin->shape.dump(), other_.device));
      } else {
        compare(value, *twin);
      }
    }
    for (const trial::RecordedValue& value : other_.values) {
      if (value.what == what_ && find(reference_, value) == nullptr) {
        findings_.push_back(fmt::format("{} {} ({}) is on {} only", what_, value.name, value.kind, other_.device));
      }
    }
    if (const std::string text = over_text(); !text.empty()) findings_.push_back(text);
  }

  std::vector<TensorDifference> take_rows() { return std::move(rows_); }
  const std::vector<std::string>& findings() const { return findings_; }
  const std::string& random_from() const { return random_from_; }

 private:
  void compare(const trial::RecordedValue& value, const trial::RecordedValue& twin) {
    const auto kind = element_kind(value.kept);
    const auto twin_kind = element_kind(twin.kept);
    if (!kind || !twin_kind) return;
    const std::vector<std::byte> left = reference_.read(value);
    const std::vector<std::byte> right = other_.read(twin);
    const Difference difference = difference_between({*kind, left}, {*twin_kind, right});
    const double limit = std::max(limits_.relative_for(*kind), limits_.relative_for(*twin_kind));
    const bool differs = difference.max_relative > limit || difference.not_finite > 0;
    if (!random_ && differs && value.kind.find("Dropout") != std::string::npos) {
      random_ = true;
      random_from_ = value.name;
    }
    rows_.push_back({.name = value.name,
                     .kind = value.kind,
                     .dtype = value.dtype == twin.dtype ? value.dtype : value.dtype + ", " + twin.dtype,
                     .max_ulps = difference.max_ulps,
                     .max_relative = difference.max_relative,
                     .max_element_relative = difference.max_element_relative,
                     .max_absolute = difference.max_absolute,
                     .elements = difference.elements,
                     .not_finite = difference.not_finite,
                     .limit = limit,
                     .over = differs && !random_,
                     .random = random_});
    if (value.dtype != twin.dtype) {
      findings_.push_back(fmt::format("{} {} is {} on {} and {} on {}", what_, value.name, value.dtype,
                                      reference_.device, twin.dtype, other_.device));
    }
  }

  // The first layer that differs is where to look, and the others follow from it; of gradients, the worst.
  std::string over_text() const {
    const TensorDifference* shown = nullptr;
    int count = 0;
    for (const TensorDifference& row : rows_) {
      if (!row.over) continue;
      ++count;
      if (shown == nullptr || (what_ == "gradient" && row.relative() > shown->relative())) shown = &row;
    }
    if (shown == nullptr) return {};
    std::string text = fmt::format("{} {}{} ", what_, shown->name, what_ == "layer" ? " (" + shown->kind + ")" : "");
    if (shown->not_finite > 0) {
      text += fmt::format("has {} element{} that only one of {} and {} has finite", shown->not_finite,
                          shown->not_finite == 1 ? "" : "s", reference_.device, other_.device);
    } else {
      text += fmt::format("differs on {} by {} of its largest element (limit {})", other_.device,
                          short_number(shown->relative()), short_number(shown->limit.value_or(0)));
    }
    if (count > 1) {
      text += fmt::format("; {} more {} too", count - 1, count == 2 ? what_ + " does" : what_ + "s do");
    }
    return text;
  }

  const KeptRun& reference_;
  const KeptRun& other_;
  const ParityLimits& limits_;
  std::string what_;
  bool random_ = false;
  std::string random_from_;
  std::vector<TensorDifference> rows_;
  std::vector<std::string> findings_;
};

// Those of a step that accumulates are added up.
struct StepLoss {
  double sum = 0;
  std::vector<trial::RecordedLoss> parts;
};

std::map<std::uint64_t, StepLoss> losses_of(const KeptRun& run) {
  std::map<std::uint64_t, StepLoss> steps;
  for (const trial::RecordedLoss& loss : run.losses) {
    StepLoss& step = steps[loss.step];
    step.sum += loss.value;
    step.parts.push_back(loss);
  }
  return steps;
}

std::optional<std::uint64_t> ulps_of(const StepLoss& left, const StepLoss& right) {
  std::uint64_t most = 0;
  if (left.parts.size() != right.parts.size()) return std::nullopt;
  for (std::size_t i = 0; i < left.parts.size(); ++i) {
    const auto kind = element_kind(left.parts[i].dtype);
    if (!kind || left.parts[i].dtype != right.parts[i].dtype) return std::nullopt;
    if (!std::isfinite(left.parts[i].value) || !std::isfinite(right.parts[i].value)) return std::nullopt;
    most = std::max(most, ulps_between(*kind, left.parts[i].value, right.parts[i].value));
  }
  return most;
}

// By how many powers of ten the difference grows a step: the slope of its logarithm, by least squares.
std::optional<double> decades_per_step(const std::vector<StepDifference>& steps) {
  double count = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const StepDifference& step : steps) {
    if (!step.relative || *step.relative <= 0) continue;
    const auto at = static_cast<double>(step.step);
    const double decades = std::log10(*step.relative);
    count += 1;
    x += at;
    y += decades;
    xx += at * at;
    xy += at * decades;
  }
  const double spread = count * xx - x * x;
  return count >= kFewestPoints && spread > 0 ? std::optional((count * xy - x * y) / spread) : std::nullopt;
}

std::string loss_text(double loss) { return fmt::format("{:.6g}", loss); }

void compare_losses(const KeptRun& reference, const KeptRun& other, const ParityLimits& limits, bool random,
                    Comparison& comparison) {
  std::vector<StepDifference>& steps = comparison.steps;
  std::vector<std::string>& findings = comparison.findings;
  const auto expected = losses_of(reference);
  const auto found = losses_of(other);
  bool said_not_finite = false;
  for (const auto& [step, loss] : expected) {
    const auto twin = found.find(step);
    if (twin == found.end()) continue;
    const double a = loss.sum;
    const double b = twin->second.sum;
    const bool finite = std::isfinite(a) && std::isfinite(b);
    steps.push_back({.step = step + 1,
                     .loss = if_finite(b),
                     .reference_loss = if_finite(a),
                     .relative = finite ? std::optional(relative_difference(a, b)) : std::nullopt,
                     .ulps = ulps_of(loss, twin->second)});
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!finite && !same && !random && !said_not_finite) {
      said_not_finite = true;
      findings.push_back(fmt::format("the loss of step {} is {} on {} and {} on {}", step + 1, loss_text(a),
                                     reference.device, loss_text(b), other.device));
    }
  }
  if (reference.steps != other.steps) {
    findings.push_back(fmt::format("the script took {} steps on {} and {} on {}", reference.steps, reference.device,
                                   other.steps, other.device));
  }
  const std::optional<double> last = steps.empty() ? std::nullopt : steps.back().relative;
  comparison.drift = {.last_relative = last, .limit = limits.drift, .decades_per_step = decades_per_step(steps)};
  if (!random && last && *last > limits.drift) {
    findings.push_back(fmt::format("the loss on {} is {} apart from that on {} at step {} (limit {})", other.device,
                                   short_number(*last), reference.device, steps.back().step,
                                   short_number(limits.drift)));
  }
}

// Of the layers of one kind.
struct Dtypes {
  std::set<std::string> weight;
  std::set<std::string> output;
  std::set<std::string> statistics;
  std::set<std::string> gradient;
};

using Policy = std::map<std::string, Dtypes>;  // by kind of layer

struct PolicyField {
  std::set<std::string> Dtypes::* dtypes;
  std::string LayerDtypes::* text;
};

constexpr std::array kPolicyFields = {
    PolicyField{&Dtypes::weight, &LayerDtypes::weight}, PolicyField{&Dtypes::output, &LayerDtypes::output},
    PolicyField{&Dtypes::statistics, &LayerDtypes::statistics}, PolicyField{&Dtypes::gradient, &LayerDtypes::gradient}};

Policy policy_of(const KeptRun& run) {
  Policy policy;
  std::map<std::string, std::string> kinds;  // by name of the layer
  for (const trial::RecordedModule& module : run.modules) {
    // A loss that is a module has no name either, and no parameters that could be its own.
    if (module.weight) kinds[module.name] = module.kind;
    if (module.weight) policy[module.kind].weight.insert(*module.weight);
    if (module.statistics) policy[module.kind].statistics.insert(*module.statistics);
  }
  for (const trial::RecordedValue& value : run.values) {
    if (value.what == "layer") {
      policy[value.kind].output.insert(value.dtype);
      continue;
    }
    // The parameter's name without its own last word is the layer's.
    const std::size_t dot = value.name.rfind('.');
    const auto kind = kinds.find(dot == std::string::npos ? "" : value.name.substr(0, dot));
    if (kind != kinds.end()) policy[kind->second].gradient.insert(value.dtype);
  }
  return policy;
}

}  // namespace

double ParityLimits::relative_for(ElementKind kind) const {
  return std::max(max_relative, kStepsOfDtype * epsilon_of(kind));
}

Comparison compare_runs(const KeptRun& reference, const KeptRun& other, const ParityLimits& limits) {
  Tensors layers(reference, other, limits, "layer");
  layers.compare(false);
  const bool random = !layers.random_from().empty();
  Tensors gradients(reference, other, limits, "gradient");
  gradients.compare(random);
  Comparison comparison;
  comparison.device = other.device;
  comparison.layers = layers.take_rows();
  comparison.gradients = gradients.take_rows();
  if (random) comparison.random_from = layers.random_from();
  comparison.findings = layers.findings();
  comparison.findings.insert(comparison.findings.end(), gradients.findings().begin(), gradients.findings().end());
  compare_losses(reference, other, limits, random, comparison);
  return comparison;
}

std::vector<LayerDtypes> dtype_policy(const std::vector<KeptRun>& runs) {
  std::set<std::string> kinds;
  std::vector<Policy> policies;
  for (const KeptRun& run : runs) {
    policies.push_back(policy_of(run));
    for (const auto& [kind, dtypes] : policies.back()) kinds.insert(kind);
  }
  std::vector<LayerDtypes> rows;
  for (const std::string& kind : kinds) {
    LayerDtypes row;
    row.kind = kind;
    for (const PolicyField& field : kPolicyFields) {
      std::vector<std::string> texts;
      for (Policy& policy : policies) texts.push_back(fmt::format("{}", fmt::join(policy[kind].*field.dtypes, ", ")));
      if (std::ranges::adjacent_find(texts, std::not_equal_to<>()) == texts.end()) {
        row.*field.text = texts.front();
        continue;
      }
      row.disagree = true;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        row.*field.text +=
            fmt::format("{}{}: {}", i == 0 ? "" : "; ", runs[i].device, texts[i].empty() ? "none" : texts[i]);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace anymps::lab::runbook::parity
