#include "lab/runbook/profile/screen.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "lab/base/text_wrap.h"
#include "lab/runbook/screen/parts.h"
#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::profile {
namespace {

constexpr std::size_t kMostProfileRows = 8;
constexpr std::size_t kQueued = 3;  // the column that a narrow terminal does without

using Rows = std::vector<std::vector<std::string>>;

std::string site_text(const std::string& site) { return trace::SourceSite::parse(site).text(); }

std::string shares_line(const std::optional<Shares>& shares) {
  const auto text = [&shares](double Shares::* share) {
    return screen::percent_text(shares ? std::optional(*shares.*share) : std::nullopt);
  };
  return fmt::format("  input {} host {} device {} waiting {} fallback {}\n", text(&Shares::input), text(&Shares::host),
                     text(&Shares::device), text(&Shares::waiting), text(&Shares::fallback));
}

// How the time of loading divides, and the functions of it that are no stage.
std::string loading_lines(const LoadingStages& loading, const base::Terminal& terminal) {
  std::string line = "loading:";
  for (const auto& [stage, share] : loading.stages) line += fmt::format(" {} {}", stage, screen::percent_text(share));
  std::string text = base::fitted_line("  ", line, terminal);
  for (const OtherCall& call : loading.others) {
    text += base::fitted_line(
        "    ", fmt::format("{} {} at {}", screen::percent_text(call.share), call.function, site_text(call.site)),
        terminal);
  }
  return text;
}

std::string step_lines(const Profile& profile, const base::Terminal& terminal) {
  if (!profile.full.part.window) return {};
  const StepWindow& window = *profile.full.part.window;
  std::string text = "\n" + shares_line(profile.full.shares);
  text += screen::columns({{"whole step", screen::seconds_text(window.step_seconds)},
                           {"of the first epoch", screen::seconds_text(window.first_epoch_step_seconds)},
                           {"of steady epochs", screen::seconds_text(window.steady_step_seconds)},
                           {"loading alone", screen::seconds_text(profile.data.part.batch_seconds)},
                           {"forward alone, one batch", screen::seconds_text(profile.forward.seconds)}});
  if (!profile.data.loading.stages.empty()) text += "\n" + loading_lines(profile.data.loading, terminal);
  return text;
}

// Nothing where there is no row but the heading.
std::string table(const Rows& rows, const base::Terminal& terminal, const std::vector<std::size_t>& spare = {}) {
  return rows.size() > 1 ? "\n" + screen::columns(rows, terminal, spare) : "";
}

std::string operators_table(const Profile& profile, const base::Terminal& terminal) {
  Rows rows = {{"operator", "calls", "itself", "queued", "waited for"}};
  for (const OperatorRow& row : profile.operators) {
    if (rows.size() > kMostProfileRows) break;
    rows.push_back({row.name, std::to_string(row.count), screen::seconds_text(row.self_seconds),
                    screen::seconds_text(row.queued_seconds), screen::seconds_text(row.waited_seconds)});
  }
  return table(rows, terminal, {kQueued});
}

std::string waits_table(const Profile& profile, const base::Terminal& terminal) {
  Rows rows = {{"wait", "calls", "time", "line"}};
  for (const WaitRow& row : profile.waits) {
    if (rows.size() > kMostProfileRows) break;
    rows.push_back({row.name, std::to_string(row.count), screen::seconds_text(row.seconds), site_text(row.site)});
  }
  return table(rows, terminal);
}

std::string workers_table(const Profile& profile, const base::Terminal& terminal) {
  Rows rows = {{"workers", "outcome", "batch", "descriptors", "memory"}};
  for (const WorkersRow& row : profile.workers) {
    const LoadingPart& loading = row.loading;
    rows.push_back({std::to_string(row.workers), std::string(word_of(row.outcome)),
                    screen::seconds_text(loading.batch_seconds), screen::number_text(loading.descriptors, 0),
                    screen::bytes_text(loading.resident_bytes)});
  }
  return table(rows, terminal);
}

}  // namespace

std::string profile_screen(const ProfileDocument& document, const base::Terminal& terminal) {
  const Profile& profile = document.profile;
  return screen::verdict_line(document.head.verdict, "profile", terminal) +
         base::wrapped(profile.story, terminal.width, "", terminal) + screen::failure_text(profile.failure, terminal) +
         step_lines(profile, terminal) + operators_table(profile, terminal) + waits_table(profile, terminal) +
         workers_table(profile, terminal) +
         screen::notes_text(profile.notes.value_or(std::vector<std::string>()), terminal);
}

}  // namespace anymps::lab::runbook::profile
