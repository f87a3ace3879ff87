#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "cli/version.h"
#include "gpu/cache_folder.h"
#include "lab/env_screen.h"
#include "lab/json_text.h"
#include "lab/machine.h"
#include "lab/python.h"
#include "lab/safe_text.h"

namespace anymps::cli {
namespace {

int env(bool as_json) {
  const lab::EnvironmentFacts facts = {.version = ANYMPS_VERSION,
                                       .executable = lab::own_executable().string(),
                                       .cache = gpu::CacheFolder::of_this_user().path().string(),
                                       .machine = lab::Machine::here(),
                                       .python = lab::ask_python({{lab::find_python()}, {}}),
                                       .variables = lab::telling_variables()};
  if (as_json) {
    lab::print_text(stdout, lab::json_pages(lab::to_json(facts)));
  } else {
    lab::print_screen(stdout, lab::env_screen(facts, lab::Terminal::behind(STDOUT_FILENO)));
  }
  return 0;
}

}  // namespace

void add_env(CLI::App& app, Action& chosen) {
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
