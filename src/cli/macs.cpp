#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options/mac_options.h"
#include "cli/verbs.h"
#include "lab/base/safe_text.h"
#include "lab/base/terminal.h"
#include "lab/size/mac_screen.h"

namespace anymps::cli {
namespace {

struct MacsOptions {
  options::MacChoice choice;
  bool json = false;
  bool sources = false;
};

int macs(const MacsOptions& options) {
  const auto chosen = options.choice.resolve();
  if (!chosen) return options::kUsageError;
  if (options.json) {
    fmt::print("{}\n", lab::size::macs_to_json(chosen->macos).dump(2));
  } else if (options.sources) {
    lab::base::print_screen(stdout, lab::size::mac_source_screen());
  } else {
    lab::base::print_screen(stdout, lab::size::mac_screen(chosen->macos, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  return 0;
}

}  // namespace

void add_macs(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<MacsOptions>();
  CLI::App* verb = app.add_subcommand("macs", "List the Macs that can be simulated");
  options->choice.add_macos(*verb);
  verb->add_flag("--json", options->json, "As JSON, each figure with its source");
  verb->add_flag("--sources", options->sources, "List the sources of the figures instead");
  verb->footer(R"(Examples:
  anymps macs                               names, memory, limits
  anymps macs --macos 14.5                  with the working sets of that macOS
  anymps macs --json | jq '.macs[].name'    for programs
)");
  verb->callback([options, &chosen] { chosen = [options](const auto&) { return macs(*options); }; });
}

}  // namespace anymps::cli
