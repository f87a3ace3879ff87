#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lab/runbook/profile/profile.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::profile {
namespace {

using nlohmann::json;

json facts_for_log(const trial::Trial& trial, const json& part) {
  if (trial.main() == nullptr) return json::object();
  json facts = trial::facts_of(*trial.main());
  facts["peak_bytes"] = trial.peak_bytes();
  facts["epoch_window"] = part.value("epoch_window", "");
  return facts;
}

std::string share_text(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string site_text(const json& row) { return trace::SourceSite::parse(row.value("site", "")).text(); }

// The document's shares: they add up to the step. Kernels here run in the host's own time; on a Mac's device they run
// beside it, which `modelled` accounts for.
json shares_of(const json& full, const json& operators) {
  const double input = full.value("input_share", 0.0);
  const double fallback = std::min(1 - input, operators.value("fallback_share", 0.0));
  const double device = std::min(1 - input - fallback, operators.value("device_share", 0.0));
  double waiting = 0;
  for (const json& wait : full.value("waits", json::array())) waiting += wait.value("seconds", 0.0);
  const double window = full.value("window_seconds", 0.0);
  waiting = window > 0 ? std::min(1 - input - fallback - device, waiting / window) : 0;
  return {{"input", input},
          {"device", device},
          {"fallback", fallback},
          {"waiting", waiting},
          {"host", std::max(0.0, 1 - input - device - fallback - waiting)}};
}

class Judge {
 public:
  Judge(const json& parts, const ProfileSettings& profile) : parts_(parts), profile_(profile) {}

  ProfileResult result() {
    const json full = part("full");
    const json operators = part("operators");
    const json data = part("data");
    json document = {{"window", {{"warm_up", profile_.warm_up}, {"steps", full.value("steps", 0)}}},
                     {"full", full},
                     {"data", data},
                     {"forward", part("forward")},
                     {"operators", operators.value("operators", json::array())},
                     {"fallbacks", operators.value("fallbacks", json::array())},
                     {"waits", full.value("waits", json::array())},
                     {"modelled", operators.value("modelled", json())},
                     {"workers", parts_.value("workers", json::array())},
                     {"simulated", full.value("simulated", false)}};
    document["data"]["stages"] = part("stages").value("stages", json::object());
    document["data"]["others"] = part("stages").value("others", json::array());
    document["full"]["shares"] = shares_of(full, operators);
    if (full.contains("failure")) {
      document["failure"] = full["failure"];
      say("The script did not come through its window, so nothing below is complete.");
      found("the script " + full["failure"].value("outcome", "failed"));
    } else if (full.value("steps", 0) == 0) {
      return {document::Verdict::kUnknown,
              with_story(std::move(document),
                         "No step was seen after the warm-up: the script is too short, or drives no "
                         "optimiser (anymps.step() marks a step).")};
    } else {
      tell_input(full, data, part("stages").value("stages", json::object()));
      tell_device(full, operators);
      tell_waits(full, operators);
      tell_fallbacks(operators, document["full"]["shares"].value("fallback", 0.0));
    }
    tell_workers();
    if (findings_.empty()) say("Nothing stands out.");
    document["findings"] = findings_;
    document["notes"] = notes_;
    const document::Verdict verdict = findings_.empty() ? document::Verdict::kGood : document::Verdict::kBad;
    return {verdict, with_story(std::move(document), story_)};
  }

 private:
  json part(const char* name) const { return parts_.value(name, json::object()); }
  void say(const std::string& sentence) { story_ += (story_.empty() ? "" : " ") + sentence; }
  void found(std::string what) { findings_.push_back(std::move(what)); }

  static json with_story(json document, const std::string& story) {
    document["story"] = story;
    return document;
  }

  void tell_input(const json& full, const json& data, const json& stages) {
    const double share = full.value("input_share", 0.0);
    say(fmt::format("A step takes {:.1f} ms ({}), of which {} is waiting for input.",
                    1e3 * full.value("step_seconds", 0.0), full.value("epoch_window", ""), share_text(share)));
    if (data.contains("error")) notes_.push_back(data["error"].get<std::string>() + ": input is not told apart");
    if (share <= profile_.input_limit) return;
    found("input");
    std::string most;
    double most_share = 0;
    for (const auto& [stage, value] : stages.items()) {
      if (value.is_number() && value.get<double>() > most_share) {
        most = stage;
        most_share = value.get<double>();
      }
    }
    say(fmt::format(
        "The loader is the bottleneck: alone it takes {:.1f} ms a batch{}. Fix the data plane before anything "
        "else.",
        1e3 * data.value("batch_seconds", 0.0),
        most.empty() ? "" : fmt::format(", {} of it {}", share_text(most_share), named_stage(most))));
  }

  // "other" says nothing: what was called there does.
  std::string named_stage(const std::string& stage) const {
    const json others = part("stages").value("others", json::array());
    if (stage != "other" || others.empty()) return stage;
    return fmt::format("in none of the stages, most of all {} at {}", others[0].value("function", ""),
                       site_text(others[0]));
  }

  void tell_device(const json& full, const json& operators) {
    const json modelled = operators.value("modelled", json());
    if (!modelled.is_object()) {
      notes_.emplace_back("operators are traced on the device that anymps provides alone: there are none here");
      return;
    }
    say(fmt::format(
        "Kernels take {} of the step; on a device that works beside the host they would keep it busy for {} of "
        "the time.",
        share_text(operators.value("device_share", 0.0)), share_text(modelled.value("busy_share", 0.0))));
    if (full.value("simulated", false)) {
      notes_.emplace_back("kernels ran on this machine's CPU: shares and orders carry over to a Mac, times do not");
    }
  }

  void tell_waits(const json& full, const json& operators) {
    const auto steps = std::max(1.0, full.value("steps", 1.0));
    const json waits = full.value("waits", json::array());
    double per_step = 0;
    for (const json& wait : waits)
      per_step += wait.value("count", 0.0) / (steps + static_cast<double>(profile_.warm_up));
    per_step = std::max(per_step, waits.empty() ? 0.0 : operators.value("waits_per_step", 0.0));
    if (per_step <= profile_.waits_limit || waits.empty()) return;
    found("waits");
    say(fmt::format(
        "The host waits for the device {:.1f} times a step, mostly by {} at {}: each empties the queue, and the "
        "device idles until it is filled again.",
        per_step, waits.front().value("name", ""), site_text(waits.front())));
  }

  void tell_fallbacks(const json& operators, double share) {
    const json fallbacks = operators.value("fallbacks", json::array());
    if (fallbacks.empty()) return;
    say(fmt::format("{} falls back to the CPU at {} ({} of the step in all fallbacks).",
                    fallbacks.front().value("name", ""), site_text(fallbacks.front()), share_text(share)));
    if (share > profile_.fallback_limit) found("fallback");
  }

  void tell_workers() {
    const json workers = parts_.value("workers", json::array());
    for (const json& row : workers) {
      if (row.value("outcome", "ran") == "ran") continue;
      found("workers");
      say(fmt::format("With {} loader workers it {}.", row.value("workers", 0), row.value("outcome", "")));
      return;
    }
    if (workers.size() < 2) return;
    const auto best =
        std::ranges::min_element(workers, {}, [](const json& row) { return row.value("batch_seconds", 0.0); });
    say(fmt::format("Loading is fastest with {} workers ({:.1f} ms a batch).", best->value("workers", 0),
                    1e3 * best->value("batch_seconds", 0.0)));
  }

  const json& parts_;
  const ProfileSettings& profile_;
  std::string story_;
  std::vector<std::string> findings_;
  std::vector<std::string> notes_;
};

}  // namespace

ProfileResult judge_profile(const json& parts, const ProfileSettings& profile) {
  return Judge(parts, profile).result();
}

ProfileResult run_profile(trial::Session& session, const trial::TrialSettings& settings, const ProfileSettings& profile,
                          double from, double to) {
  const std::uint64_t bisected = profile.bisect_workers ? *profile.bisect_workers + 1 : 0;
  const double share = (to - from) / static_cast<double>(5 + bisected);
  double begin = from;
  auto parts = json::object();
  const auto spec = [&profile](const char* mode, json more = json::object()) {
    json spec = {{"mode", mode}, {"warm_up", profile.warm_up}, {"steps", profile.steps}, {"seconds", profile.seconds}};
    spec.update(more);
    return spec;
  };
  const auto run = [&](const std::string& name, const json& wanted, bool traced,
                       const std::function<json(const trial::Trial&)>& read) {
    const json result = session.part(name, [&] {
      trial::TrialSettings these = settings;
      if (traced) these.environment["ANYMPS_TRACE_CALLS"] = "1";
      const trial::Trial trial = trial::run_trial(these, wanted, [&](std::uint64_t done) {
        const double total = static_cast<double>(profile.warm_up + profile.steps);
        session.progress().at(begin + share * std::min(1.0, static_cast<double>(done) / total), name);
      });
      json part = read(trial);
      if (name == "full") session.put_facts(facts_for_log(trial, part));
      return part;
    });
    begin += share;
    return result;
  };
  parts["full"] = run("full", spec("window", {{"waits", true}}), false,
                      [&](const trial::Trial& trial) { return full_part(trial, profile); });
  if (!parts["full"].contains("failure")) {
    parts["operators"] = run("operators", spec("window"), true,
                             [&](const trial::Trial& trial) { return operators_part(trial, profile); });
    parts["data"] = run("data", spec("data"), false, data_part);
    if (!parts["data"].contains("error")) {
      parts["stages"] =
          run("stages", spec("data", {{"stages", true}, {"stage_names", profile.stage_names}}), false, stages_part);
    }
    parts["forward"] = run("forward", spec("forward"), false, forward_part);
  }
  for (std::uint64_t workers = 0; workers < bisected; ++workers) {
    json row = run(fmt::format("{} workers", workers), spec("data", {{"workers", workers}}), false, data_part);
    row["workers"] = workers;
    row["outcome"] = row.contains("failure") ? row["failure"].value("outcome", "") : "ran";
    const bool failed = row["outcome"] != "ran";
    parts["workers"].push_back(std::move(row));
    if (failed) break;
  }
  return judge_profile(parts, profile);
}

}  // namespace anymps::lab::runbook::profile
