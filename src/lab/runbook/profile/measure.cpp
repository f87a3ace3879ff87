#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/runbook/profile/profile.h"

namespace anymps::lab::runbook::profile {
namespace {

using nlohmann::json;

// The trials of a profile, one after the other.
class ProfileTrials {
 public:
  ProfileTrials(trial::Session& session, const trial::TrialSettings& settings, const ProfileSettings& profile,
                double from, double to)
      : session_(session),
        settings_(settings),
        profile_(profile),
        bisected_(profile.bisect_workers ? *profile.bisect_workers + 1 : 0),
        share_((to - from) / static_cast<double>(5 + bisected_)),
        begin_(from) {}

  ProfileParts parts() {
    ProfileParts parts;
    parts.full = run<FullPart>("full", spec("window", {{"waits", true}}), [this](const trial::Trial& trial) {
      FullPart part = full_part(trial, profile_);
      put_facts(trial, part);
      return part;
    });
    if (!parts.full.end.failure) {
      const auto read_operators = [this](const trial::Trial& trial) { return operators_part(trial, profile_); };
      parts.operators = run<OperatorsPart>("operators", spec("window"), read_operators, {{"ANYMPS_TRACE_CALLS", "1"}});
      parts.data = run<LoadingPart>("data", spec("data"), data_part);
      if (!parts.data.end.error) {
        const json wanted = spec("data", {{"stages", true}, {"stage_names", profile_.stage_names}});
        parts.stages = run<StagesPart>("stages", wanted, stages_part);
      }
      parts.forward = run<ForwardPart>("forward", spec("forward"), forward_part);
    }
    for (std::uint64_t workers = 0; workers < bisected_; ++workers) {
      parts.workers.push_back(with_workers(workers));
      if (parts.workers.back().outcome != document::Outcome::kRan) break;
    }
    return parts;
  }

 private:
  json spec(const char* mode, const json& more = json::object()) const {
    json spec = {
        {"mode", mode}, {"warm_up", profile_.warm_up}, {"steps", profile_.steps}, {"seconds", profile_.seconds}};
    spec.update(more);
    return spec;
  }

  template <typename Part>
  Part run(const std::string& name, const json& wanted, const std::function<Part(const trial::Trial&)>& read,
           const std::map<std::string, std::string>& environment = {}) {
    const json result = session_.part(name, [&] {
      trial::TrialSettings these = settings_;
      for (const auto& [variable, value] : environment) these.environment[variable] = value;
      const trial::Trial trial = trial::run_trial(these, wanted, [&](std::uint64_t done) {
        const auto total = static_cast<double>(profile_.warm_up + profile_.steps);
        session_.progress().at(begin_ + share_ * std::min(1.0, static_cast<double>(done) / total), name);
      });
      return document::to_json(read(trial));
    });
    begin_ += share_;
    return document::described_from<Part>(result);
  }

  void put_facts(const trial::Trial& trial, const FullPart& part) {
    json facts = json::object();
    if (trial.main() != nullptr) {
      facts = trial::facts_of(*trial.main());
      facts["peak_bytes"] = trial.peak_bytes();
      facts["epoch_window"] = part.window ? part.window->epoch_window : "";
    }
    session_.put_facts(facts);
  }

  WorkersRow with_workers(std::uint64_t workers) {
    WorkersRow row;
    row.loading = run<LoadingPart>(fmt::format("{} workers", workers), spec("data", {{"workers", workers}}), data_part);
    row.workers = workers;
    row.outcome = row.loading.end.failure ? row.loading.end.failure->outcome : document::Outcome::kRan;
    return row;
  }

  trial::Session& session_;
  const trial::TrialSettings& settings_;
  const ProfileSettings& profile_;
  const std::uint64_t bisected_;
  const double share_;  // of the progress, for each trial
  double begin_;
};

}  // namespace

ProfileResult run_profile(trial::Session& session, const trial::TrialSettings& settings, const ProfileSettings& profile,
                          double from, double to) {
  return judge_profile(ProfileTrials(session, settings, profile, from, to).parts(), profile);
}

}  // namespace anymps::lab::runbook::profile
