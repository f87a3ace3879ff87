#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options/version.h"
#include "cli/verbs.h"
#include "gpu/cache/cache_folder.h"
#include "lab/base/json_text.h"
#include "lab/base/safe_text.h"
#include "lab/host/env_screen.h"
#include "lab/host/machine.h"
#include "lab/host/python.h"

namespace anymps::cli {
namespace {

int env(bool as_json) {
  const lab::host::EnvironmentFacts facts = {.version = ANYMPS_VERSION,
                                             .executable = lab::host::own_executable().string(),
                                             .cache = gpu::cache::CacheFolder::of_this_user().path().string(),
                                             .machine = lab::host::Machine::here(),
                                             .python = lab::host::ask_python({{lab::host::find_python()}, {}}),
                                             .variables = lab::host::telling_variables()};
  if (as_json) {
    lab::base::print_text(stdout, lab::base::json_pages(lab::host::to_json(facts)));
  } else {
    lab::base::print_screen(stdout, lab::host::env_screen(facts, lab::base::Terminal::behind(STDOUT_FILENO)));
  }
  return 0;
}

}  // namespace

void add_env(CLI::App& app, options::Action& chosen) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("env", "Show what a bug report needs");
  verb->add_flag("--json", *as_json, "As JSON");
  verb->footer(R"(Examples:
  anymps env            versions, the device, and why it is not there where it is not
  anymps env --json     for programs

On a terminal, a path that is longer than a line is shown without its middle; in a pipe and with --json all are whole.
)");
  verb->callback([as_json, &chosen] { chosen = [as_json](const auto&) { return env(*as_json); }; });
}

}  // namespace anymps::cli
