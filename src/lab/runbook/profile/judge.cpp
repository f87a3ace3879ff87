#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lab/runbook/profile/profile.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::profile {
namespace {

std::string share_text(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string told_site(const std::string& site) { return trace::SourceSite::parse(site).text(); }

Finding finding_of(document::Outcome outcome) {
  switch (outcome) {
    case document::Outcome::kOutOfMemory:
      return Finding::kOutOfMemory;
    case document::Outcome::kKilled:
      return Finding::kKilled;
    case document::Outcome::kHung:
      return Finding::kHung;
    case document::Outcome::kNotStarted:
      return Finding::kNotStarted;
    default:
      return Finding::kCrashed;
  }
}

// They add up to the step. Kernels here run in the host's own time; on a Mac's device they run beside it, which
// `modelled` accounts for.
Shares shares_of(const StepWindow& window, const TracedOperators& traced) {
  Shares shares;
  shares.input = window.input_share;
  shares.fallback = std::min(1 - shares.input, traced.fallback_share);
  shares.device = std::min(1 - shares.input - shares.fallback, traced.device_share);
  double waited = 0;
  for (const WaitRow& wait : window.waits) waited += wait.seconds;
  if (window.window_seconds > 0) {
    shares.waiting = std::min(1 - shares.input - shares.fallback - shares.device, waited / window.window_seconds);
  }
  shares.host = std::max(0.0, 1 - shares.input - shares.device - shares.fallback - shares.waiting);
  return shares;
}

class Judge {
 public:
  Judge(const ProfileParts& parts, const ProfileSettings& settings)
      : parts_(parts),
        settings_(settings),
        window_(parts.full.window.value_or(StepWindow{})),
        traced_(parts.operators.traced.value_or(TracedOperators{})),
        shares_(shares_of(window_, traced_)) {}

  ProfileResult result() {
    ProfileResult result{.verdict = document::Verdict::kUnknown, .profile = measured()};
    if (parts_.full.end.failure) {
      say("The script did not come through its window, so nothing below is complete.");
      found(finding_of(parts_.full.end.failure->outcome));
    } else if (window_.steps == 0) {
      result.profile.story =
          "No step was seen after the warm-up: the script is too short, or drives no optimiser (anymps.step() marks a "
          "step).";
      return result;
    } else {
      tell_input();
      tell_device();
      tell_waits();
      tell_fallbacks();
    }
    tell_workers();
    if (findings_.empty()) say("Nothing stands out.");
    result.verdict = findings_.empty() ? document::Verdict::kGood : document::Verdict::kBad;
    result.profile.story = std::move(story_);
    result.profile.findings = std::move(findings_);
    result.profile.notes = std::move(notes_);
    return result;
  }

 private:
  // All but what is said of it.
  Profile measured() const {
    Profile profile;
    profile.window = {.warm_up = settings_.warm_up, .steps = window_.steps};
    profile.full = {.part = parts_.full, .shares = shares_};
    profile.data = {.part = parts_.data, .loading = parts_.stages.loading};
    profile.forward = parts_.forward;
    profile.operators = traced_.operators;
    profile.fallbacks = traced_.fallbacks;
    profile.waits = window_.waits;
    profile.modelled = traced_.modelled;
    profile.workers = parts_.workers;
    profile.simulated = window_.simulated;
    profile.failure = parts_.full.end.failure;
    return profile;
  }

  void say(const std::string& sentence) { story_ += (story_.empty() ? "" : " ") + sentence; }
  void found(Finding what) { findings_.push_back(what); }

  void tell_input() {
    const double share = window_.input_share;
    say(fmt::format("A step takes {:.1f} ms ({}), of which {} is waiting for input.", 1e3 * window_.step_seconds,
                    window_.epoch_window, share_text(share)));
    if (parts_.data.end.error) notes_.push_back(*parts_.data.end.error + ": input is not told apart");
    if (share <= settings_.input_limit) return;
    found(Finding::kInput);
    std::string most;
    double most_share = 0;
    for (const auto& [stage, of_loading] : parts_.stages.loading.stages) {
      if (of_loading > most_share) {
        most = stage;
        most_share = of_loading;
      }
    }
    say(fmt::format(
        "The loader is the bottleneck: alone it takes {:.1f} ms a batch{}. Fix the data plane before anything "
        "else.",
        1e3 * parts_.data.batch_seconds.value_or(0),
        most.empty() ? "" : fmt::format(", {} of it {}", share_text(most_share), named_stage(most))));
  }

  // "other" says nothing: what was called there does.
  std::string named_stage(const std::string& stage) const {
    const std::vector<OtherCall>& others = parts_.stages.loading.others;
    if (stage != "other" || others.empty()) return stage;
    return fmt::format("in none of the stages, most of all {} at {}", others.front().function,
                       told_site(others.front().site));
  }

  void tell_device() {
    if (!traced_.modelled) {
      notes_.emplace_back("operators are traced on the device that anymps provides alone: there are none here");
      return;
    }
    say(fmt::format(
        "Kernels take {} of the step; on a device that works beside the host they would keep it busy for {} of "
        "the time.",
        share_text(traced_.device_share), share_text(traced_.modelled->busy_share)));
    if (window_.simulated) {
      notes_.emplace_back("kernels ran on this machine's CPU: shares and orders carry over to a Mac, times do not");
    }
  }

  void tell_waits() {
    if (window_.waits.empty()) return;
    const auto steps = static_cast<double>(window_.steps);
    double per_step = 0;
    for (const WaitRow& wait : window_.waits)
      per_step += static_cast<double>(wait.count) / (steps + static_cast<double>(settings_.warm_up));
    per_step = std::max(per_step, traced_.waits_per_step);
    if (per_step <= settings_.waits_limit) return;
    found(Finding::kWaits);
    say(fmt::format(
        "The host waits for the device {:.1f} times a step, mostly by {} at {}: each empties the queue, and the "
        "device idles until it is filled again.",
        per_step, window_.waits.front().name, told_site(window_.waits.front().site)));
  }

  void tell_fallbacks() {
    if (traced_.fallbacks.empty()) return;
    say(fmt::format("{} falls back to the CPU at {} ({} of the step in all fallbacks).", traced_.fallbacks.front().name,
                    told_site(traced_.fallbacks.front().site), share_text(shares_.fallback)));
    if (shares_.fallback > settings_.fallback_limit) found(Finding::kFallback);
  }

  void tell_workers() {
    for (const WorkersRow& row : parts_.workers) {
      if (row.outcome == document::Outcome::kRan) continue;
      found(Finding::kWorkers);
      say(fmt::format("With {} loader workers it {}.", row.workers, word_of(row.outcome)));
      return;
    }
    if (parts_.workers.size() < 2) return;
    const auto seconds = [](const WorkersRow& row) { return row.loading.batch_seconds.value_or(0); };
    const auto best = std::ranges::min_element(parts_.workers, {}, seconds);
    say(fmt::format("Loading is fastest with {} workers ({:.1f} ms a batch).", best->workers, 1e3 * seconds(*best)));
  }

  const ProfileParts& parts_;
  const ProfileSettings& settings_;
  const StepWindow window_;
  const TracedOperators traced_;
  const Shares shares_;
  std::string story_;
  std::vector<Finding> findings_;
  std::vector<std::string> notes_;
};

}  // namespace

ProfileResult judge_profile(const ProfileParts& parts, const ProfileSettings& profile) {
  return Judge(parts, profile).result();
}

}  // namespace anymps::lab::runbook::profile
