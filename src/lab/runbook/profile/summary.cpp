#include "lab/runbook/profile/summary.h"

#include <fmt/format.h>

#include <string_view>

#include "lab/html/chart.h"

namespace anymps::lab::runbook::profile {

using document::FigureKind;

std::string profile_headline(const ProfileDocument& document) {
  std::string_view largest;
  double most = 0;
  for (const auto& [name, share] : document.profile.full.shares.value_or(Shares{}).named()) {
    if (share <= most) continue;
    most = share;
    largest = name;
  }
  return largest.empty() ? "" : fmt::format("{} of a step is {}", html::value_text(most, html::Unit::kShare), largest);
}

std::vector<document::Figure> profile_figures(const ProfileDocument& document) {
  const Profile& profile = document.profile;
  std::vector<document::Figure> figures;
  const auto add_seconds = [&figures](const char* name, const char* at, std::optional<double> seconds) {
    if (seconds) figures.push_back({name, at, FigureKind::kSeconds, *seconds, {}, {}});
  };
  add_seconds("step_seconds", "", profile.step_seconds());
  add_seconds("batch_seconds", "data only", profile.data.part.batch_seconds);
  add_seconds("forward_seconds", "forward only", profile.forward.seconds);
  if (profile.full.shares) {
    for (const auto& [name, share] : profile.full.shares->named()) {
      figures.push_back({fmt::format("{}_share", name), "", FigureKind::kOther, share, {}, {}});
    }
  }
  return figures;
}

}  // namespace anymps::lab::runbook::profile
