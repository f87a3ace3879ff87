#include "lab/runbook/log/explanations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>

#include "lab/base/units.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/log/fields.h"

namespace anymps::lab::runbook::log {
namespace {

using nlohmann::json;

// Less swap and memory of other programs than this is no news.
constexpr double kSwapBytes = 64.0 * 1024 * 1024;
constexpr double kBackgroundBytes = 1024.0 * 1024 * 1024;
constexpr double kLoad = 0.5;

// Which of the two runs it slows down.
enum class Slows { kBefore, kAfter, kEither };

struct PossibleCause {
  Explanation explanation;
  Slows slows = Slows::kEither;
};

const json& fact(const RunWithSamples& run, const char* name) { return value_of(log_field(name), run.run.facts); }

std::optional<double> number_fact(const RunWithSamples& run, const char* name) {
  const json& value = fact(run, name);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// The worst of what the run began with and of its samples.
template <typename Worse>
std::optional<double> worst(const RunWithSamples& run, const char* name, Worse worse) {
  std::optional<double> found = number_fact(run, name);
  for (const json& sample : run.samples) {
    const json& value = value_of(log_field(name), sample);
    if (value.is_number() && (!found || worse(value.get<double>(), *found))) found = value.get<double>();
  }
  return found;
}

class Search {
 public:
  Search(const RunWithSamples& before, const RunWithSamples& after) : before_(before), after_(after) {}

  // A flag that costs time when it has that value.
  void flag(const char* name, bool costly, const char* what, const char* why, std::optional<double> up_to) {
    const json& old_value = fact(before_, name);
    const json& new_value = fact(after_, name);
    if (!old_value.is_boolean() || !new_value.is_boolean() || old_value == new_value) return;
    const bool after_is_slow = new_value.get<bool>() == costly;
    add(what, fmt::format("{} in the {} run: {}", what, after_is_slow ? "later" : "earlier", why), up_to,
        after_is_slow ? Slows::kAfter : Slows::kBefore);
  }

  // A number of which less is slower, in proportion at most.
  void share(const char* what, std::optional<double> old_value, std::optional<double> new_value,
             std::string_view unit) {
    if (!old_value || !new_value || *old_value == *new_value || *old_value <= 0 || *new_value <= 0) return;
    const double up_to = 1 - std::min(*old_value, *new_value) / std::max(*old_value, *new_value);
    if (up_to < 0.005) return;
    const double scale = unit == "%" ? 100 : 1;
    add(what,
        fmt::format("{}: {:g}{} -> {:g}{}, which can take up to {:.0f}% of the speed", what, scale * *old_value, unit,
                    scale * *new_value, unit, 100 * up_to),
        up_to, *new_value < *old_value ? Slows::kAfter : Slows::kBefore);
  }

  void swap() {
    const auto greater = [](double one, double other) { return one > other; };
    const auto old_value = worst(before_, "swap_used_bytes", greater);
    const auto new_value = worst(after_, "swap_used_bytes", greater);
    if (!old_value || !new_value || std::abs(*old_value - *new_value) < kSwapBytes) return;
    add("swap",
        fmt::format("swap in use: at most {} -> {}; memory that comes from the disk is slower by orders of magnitude",
                    base::human_bytes(static_cast<std::uint64_t>(*old_value)),
                    base::human_bytes(static_cast<std::uint64_t>(*new_value))),
        std::nullopt, *new_value > *old_value ? Slows::kAfter : Slows::kBefore);
  }

  // At the beginning, before the training itself is part of it.
  void load() {
    const auto old_value = number_fact(before_, "load");
    const auto new_value = number_fact(after_, "load");
    if (!old_value || !new_value || std::abs(*old_value - *new_value) < kLoad) return;
    const double cores = std::max(1.0, number_fact(after_, "cores").value_or(1));
    const double up_to = std::min(0.95, std::abs(*old_value - *new_value) / cores);
    add("load",
        fmt::format(
            "load of others at the start: {:.1f} -> {:.1f} processes for {:.0f} cores, which can take up to {:.0f}%",
            *old_value, *new_value, cores, 100 * up_to),
        up_to, *new_value > *old_value ? Slows::kAfter : Slows::kBefore);
  }

  void background() {
    const auto sum = [](const json& apps) {
      double bytes = 0;
      for (const json& app : apps) bytes += document::number_in(app, "resident_bytes").value_or(0);
      return bytes;
    };
    const double old_sum = sum(fact(before_, "background"));
    const double new_sum = sum(fact(after_, "background"));
    if (std::abs(old_sum - new_sum) < kBackgroundBytes) return;
    add("background apps",
        fmt::format("memory of background apps: {} -> {}", base::human_bytes(static_cast<std::uint64_t>(old_sum)),
                    base::human_bytes(static_cast<std::uint64_t>(new_sum))),
        std::nullopt, new_sum > old_sum ? Slows::kAfter : Slows::kBefore);
  }

  void caches() {
    const auto remote = [](const json& mounts) {
      std::vector<std::string> names;
      for (const json& mount : mounts) {
        if (document::flag_in(mount, "network")) names.push_back(document::string_in(mount, "name", "?"));
      }
      return names;
    };
    const auto old_names = remote(fact(before_, "cache_mounts"));
    const auto new_names = remote(fact(after_, "cache_mounts"));
    if (old_names.size() == new_names.size()) return;
    const bool after_is_slow = new_names.size() > old_names.size();
    add("cache on a network mount",
        fmt::format("{} on a network mount in the {} run: what is loaded or compiled waits for it",
                    fmt::join(after_is_slow ? new_names : old_names, ", "), after_is_slow ? "later" : "earlier"),
        std::nullopt, after_is_slow ? Slows::kAfter : Slows::kBefore);
  }

  void round_trip() {
    const auto old_value = number_fact(before_, "rtt_seconds");
    const auto new_value = number_fact(after_, "rtt_seconds");
    if (!old_value || !new_value) return;
    if (std::max(*old_value, *new_value) < std::min(*old_value, *new_value) * 1.5 + 0.001) return;
    add("RTT to the artifact store",
        fmt::format("RTT to the artifact store: {} -> {}; it counts where data comes from there",
                    base::human_seconds(*old_value), base::human_seconds(*new_value)),
        std::nullopt, *new_value > *old_value ? Slows::kAfter : Slows::kBefore);
  }

  // Something else was measured.
  void other(const char* name, const char* why) {
    const LogField& field = log_field(name);
    const json& old_value = value_of(field, before_.run.facts);
    const json& new_value = value_of(field, after_.run.facts);
    if (old_value.is_null() || new_value.is_null() || old_value == new_value) return;
    add(field.label,
        fmt::format("{}: {} -> {}; {}", field.label, text_of(field, before_.run.facts),
                    text_of(field, after_.run.facts), why),
        std::nullopt, Slows::kEither);
  }

  void settings() {
    const json& old_mac = document::member(document::member(before_.run.facts, "settings"), "mac");
    const json& new_mac = document::member(document::member(after_.run.facts, "settings"), "mac");
    if (before_.run.command != after_.run.command) {
      add("command", "the command is another one: the script or its arguments changed", std::nullopt, Slows::kEither);
    }
    if (before_.run.verb == after_.run.verb && old_mac != new_mac) {
      add("simulated Mac",
          fmt::format("the simulated Mac: {} -> {}; its limits are other ones", old_mac.dump(), new_mac.dump()),
          std::nullopt, Slows::kEither);
    }
  }

  void environment() {
    const auto of = [](const RunWithSamples& run) {
      json all = document::member(run.run.facts, "environment");
      if (!all.is_object()) all = json::object();
      all.erase("ANYMPS_LOGBOOK");
      return all;
    };
    const json old_all = of(before_);
    const json new_all = of(after_);
    std::map<std::string, std::string> changed;
    for (const json* all : {&old_all, &new_all}) {
      for (const auto& [name, value] : all->items()) {
        if (document::member(old_all, name) == document::member(new_all, name)) continue;
        const auto shown = [&name](const json& set) { return set.contains(name) ? set[name].dump() : "unset"; };
        changed[name] = fmt::format("{}: {} -> {}", name, shown(old_all), shown(new_all));
      }
    }
    if (changed.empty()) return;
    std::vector<std::string> texts;
    for (const auto& [name, text] : changed) texts.push_back(text);
    add("environment variables", fmt::format("{}", fmt::join(texts, "; ")), std::nullopt, Slows::kEither);
  }

  std::vector<PossibleCause> take() { return std::move(found_); }

 private:
  void add(std::string name, std::string text, std::optional<double> up_to, Slows slows) {
    found_.push_back({{std::move(name), std::move(text), up_to}, slows});
  }

  const RunWithSamples& before_;
  const RunWithSamples& after_;
  std::vector<PossibleCause> found_;
};

}  // namespace

std::vector<Explanation> explain(const RunWithSamples& before, const RunWithSamples& after,
                                 std::optional<double> speed_change) {
  Search search(before, after);
  const auto less = [](double one, double other) { return one < other; };
  search.share("thermal limit", worst(before, "speed_limit", less), worst(after, "speed_limit", less), "%");
  search.flag("power_adapter", false, "power adapter off", "a laptop on battery lowers its clocks", std::nullopt);
  search.flag("low_power_mode", true, "low-power mode", "the system keeps the clocks low", std::nullopt);
  search.swap();
  search.load();
  search.background();
  search.share("threads", number_fact(before, "threads"), number_fact(after, "threads"), "");
  search.share("cores allowed", number_fact(before, "cores_allowed"), number_fact(after, "cores_allowed"), "");
  search.caches();
  search.round_trip();
  search.flag("fallback", true, "CPU fallback", "operators that MPS lacks run on the CPU", std::nullopt);
  // A further forward pass for two that a step has in effect: the backward pass is worth two.
  search.flag("checkpointing", true, "checkpointing", "each step has a further forward pass", 0.25);
  search.flag("deterministic", true, "deterministic algorithms", "some kernels have a slower form", std::nullopt);
  search.other("amp", "the arithmetic is another one");
  search.other("batch", "a step does another amount of work");
  search.other("resolution", "a step does another amount of work");
  search.other("accumulation", "the optimiser steps at another pace");
  search.other("workers", "the input is read by another number of processes");
  search.other("epoch_window", "first and steady epochs are not comparable");
  search.other("data_sha256", "the data set is another one");
  search.other("commit", "the code is another one");
  search.other("dirty", "the code may be another one");
  search.other("torch", "PyTorch is another one");
  search.other("python", "Python is another one");
  search.other("device", "the device is another one");
  search.other("cpu", "the machine is another one");
  search.other("memory_bytes", "the machine is another one");
  search.other("system", "the system is another one");
  search.other("container", "its limits may be other ones");
  search.settings();
  search.environment();

  std::vector<Explanation> explanations;
  for (PossibleCause& cause : search.take()) {
    const bool fits =
        !speed_change || cause.slows == Slows::kEither || (cause.slows == Slows::kAfter) == (*speed_change < 0);
    if (fits) explanations.push_back(std::move(cause.explanation));
  }
  return explanations;
}

}  // namespace anymps::lab::runbook::log
