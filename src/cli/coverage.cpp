// `anymps coverage`: in which releases of PyTorch an operator runs on MPS.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/coverage/difference.h"
#include "lab/coverage/screen.h"

namespace anymps::cli {
namespace {

struct CoverageOptions {
  std::vector<std::string> operators;
  std::string lacking;
  std::string arrived;
  std::vector<std::string> diff;  // two releases, or none
  bool json = false;
};

using Histories = std::vector<gpu::history::OperatorHistory>;

bool named(const std::vector<std::string>& operators, Histories& found) {
  for (const std::string& written : operators) {
    const Histories some = lab::coverage::find_operators(written);
    if (some.empty()) {
      lab::base::log().error("there is no operator `{}` in PyTorch {} to {}; the nearest is `{}`", written,
                             gpu::history::torch_releases().front().version,
                             gpu::history::torch_releases().back().version, lab::coverage::nearest_operator(written));
      return false;
    }
    found.insert(found.end(), some.begin(), some.end());
  }
  return true;
}

// Those that the release refuses, or that run in it and did not before.
bool of_release(const std::string& version, bool arrived, Histories& found) {
  const auto release = gpu::history::torch_release(version);
  const auto before = gpu::history::torch_release_before(version);
  if (!release || (arrived && !before)) {
    lab::base::log().error("no release of PyTorch `{}` is known{}; there are {}", version,
                           release ? ", with one before it" : "", lab::coverage::known_releases());
    return false;
  }
  for (const gpu::history::OperatorHistory& one : gpu::history::operator_histories()) {
    const gpu::history::OperatorRoute route = gpu::history::route_with_parts(one, *release);
    const bool wanted = arrived ? gpu::history::runs_on_mps(route) &&
                                      !gpu::history::runs_on_mps(gpu::history::route_with_parts(one, *before))
                                : route == gpu::history::OperatorRoute::kRefused;
    if (wanted) found.push_back(one);
  }
  return true;
}

// The index of a release that a user names.
std::optional<std::size_t> release_named(const std::string& version) {
  const auto release = gpu::history::torch_release(version);
  if (!release) {
    lab::base::log().error("no release of PyTorch `{}` is known; there are {}", version,
                           lab::coverage::known_releases());
  }
  return release;
}

int tell_difference(const CoverageOptions& options) {
  const auto from = release_named(options.diff.front());
  const auto to = from ? release_named(options.diff.back()) : std::nullopt;
  if (!to) return options::kUsageError;
  const lab::coverage::ReleaseDifference difference = lab::coverage::release_difference(*from, *to);
  if (options.json) {
    lab::base::print_text(stdout, lab::coverage::difference_to_json(difference).dump(2) + "\n");
  } else {
    lab::base::print_screen(stdout,
                            lab::coverage::difference_screen(difference, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  return 0;
}

int coverage(const CoverageOptions& options) {
  const bool lists = !options.operators.empty() || !options.lacking.empty() || !options.arrived.empty();
  if (!options.diff.empty()) {
    if (!lists) return tell_difference(options);
    lab::base::log().error("--diff goes with no operator and neither with --lacking nor with --new");
    return options::kUsageError;
  }
  if (!lists) {
    lab::base::log().error(
        "name an operator, --lacking or --new a release, or --diff two (see anymps coverage --help)");
    return options::kUsageError;
  }
  Histories found;
  if (!named(options.operators, found)) return options::kUsageError;
  if (!options.lacking.empty() && !of_release(options.lacking, false, found)) return options::kUsageError;
  if (!options.arrived.empty() && !of_release(options.arrived, true, found)) return options::kUsageError;
  if (options.json) {
    lab::base::print_text(stdout, lab::coverage::coverage_to_json(found).dump(2) + "\n");
  } else {
    lab::base::print_screen(stdout, lab::coverage::coverage_screen(found, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  return 0;
}

constexpr const char* kCoverageHelp =
    R"text(Names may be written as in programs: torch.linalg.svd, aten::add.Tensor, nn.functional.gelu. A name without overload stands
for all of them. "made of other operators": it runs where these run; those that are missing somewhere are named, as far as PyTorch's own
samples call them.

Examples:
  anymps coverage torch.linalg.eigh
  anymps coverage --lacking 2.8           what a Mac with PyTorch 2.8 refuses
  anymps coverage --new 2.14 --json       what came with 2.14
  anymps coverage --diff 2.13 2.15        what changes for a program: operators and refused arguments
)text";

}  // namespace

void add_coverage(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<CoverageOptions>();
  CLI::App* verb = app.add_subcommand("coverage", "Say in which releases of PyTorch an operator runs on MPS");
  verb->footer(kCoverageHelp);
  verb->add_option("OPERATOR", options->operators, "Some operators")->type_name("NAME");
  verb->add_option("--lacking", options->lacking, "All that this release refuses")->type_name("RELEASE");
  verb->add_option("--new", options->arrived, "All that run since this release")->type_name("RELEASE");
  verb->add_option("--diff", options->diff, "What changes from the one release to the other")
      ->type_name("RELEASE")
      ->expected(2);
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options, &chosen] { chosen = [options](const auto&) { return coverage(*options); }; });
}

}  // namespace anymps::cli
