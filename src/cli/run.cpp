#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "cli/options/mac_options.h"
#include "cli/options/traced_run.h"
#include "cli/verbs.h"
#include "lab/base/json_text.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/base/terminal.h"
#include "lab/host/child.h"
#include "lab/host/python.h"
#include "lab/host/run_folder.h"
#include "lab/size/memory_remedies.h"
#include "lab/trace/reader.h"
#include "lab/trace/run_screen.h"
#include "lab/trace/run_summary.h"

namespace anymps::cli {
namespace {

struct RunOptions {
  options::MacChoice choice;
  bool fallback = false;
  bool sync = false;
  bool quiet = false;
  std::string versus;
  std::string keep;
  std::string json;
};

lab::host::ChildResult run_traced(const RunOptions& options, lab::host::ChildCommand& command,
                                  const std::string& folder, lab::host::ChildOutput output) {
  options::trace_into(command, folder);
  options.choice.put_into(command.environment);
  if (options.fallback) command.environment["PYTORCH_ENABLE_MPS_FALLBACK"] = "1";
  if (options.sync) command.environment["ANYMPS_SYNC"] = "1";
  return lab::host::run_child(command, output);
}

std::string json_of(const lab::trace::RunReport& report) { return lab::base::json_pages(lab::trace::to_json(report)); }

int run_command(const RunOptions& options, const std::vector<std::string>& command) {
  if (command.empty()) {
    lab::base::log().error("nothing to run; for example: anymps run train.py (see anymps run --help)");
    return options::kUsageError;
  }
  const auto chosen = options.choice.resolve();
  if (!chosen) return options::kUsageError;
  if (!options::can_write("--json", options.json)) return options::kUsageError;
  lab::host::ChildCommand versus;
  try {
    versus.words = lab::host::split_words(options.versus);
  } catch (const std::invalid_argument& error) {
    lab::base::log().error("--versus: {}", error.what());
    return options::kUsageError;
  }

  const lab::host::RunFolder folder =
      options.keep.empty() ? lab::host::RunFolder::temporary() : lab::host::RunFolder::kept(options.keep);
  lab::host::ChildCommand child{lab::host::with_python(command), {}};
  const std::string run_part = folder.make_part("run");
  const lab::host::ChildResult result = run_traced(options, child, run_part, lab::host::ChildOutput::kInherit);
  if (!result.start_error.empty()) {
    options::say_not_started(child, result);
    return result.status();
  }
  lab::trace::RunReport report;
  report.run = lab::trace::summarise(child, result, lab::trace::read_run(run_part));
  report.versus_arguments = options.versus;
  int status = result.status();

  if (!versus.words.empty() && status == 0 && !result.interrupted) {
    versus.words.insert(versus.words.begin(), child.words.begin(), child.words.end());
    lab::base::log().info("the same again with {}", options.versus);
    const std::string versus_part = folder.make_part("versus");
    // What a pipe receives is the output of the first run only.
    const lab::host::ChildResult other = run_traced(options, versus, versus_part, lab::host::ChildOutput::kToError);
    if (!other.start_error.empty()) options::say_not_started(versus, other);
    report.versus = lab::trace::summarise(versus, other, lab::trace::read_run(versus_part));
    status = other.status();
  }

  if (!options.quiet) {
    const lab::base::Terminal terminal = lab::base::Terminal::behind(STDERR_FILENO);
    const std::string screen = lab::trace::summary_screen(report, terminal);
    lab::base::print_screen(stderr, screen);
    const std::string remedies = lab::size::memory_remedies(report.run, lab::size::SimulatedMac::of(*chosen), terminal);
    lab::base::print_screen(stderr, remedies);
  }
  options::write_text(options.json, json_of(report));
  if (!options.keep.empty()) options::write_text((folder.path() / "summary.json").string(), json_of(report));
  return status;
}

}  // namespace

void add_run(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run a script or program; end with one screen of figures");
  verb->prefix_command();
  options->choice.add_mac(*verb);
  options->choice.add_macos(*verb);
  options->choice.add_as_torch(*verb);
  options->choice.add_platform(*verb);
  verb->add_flag("--fallback", options->fallback,
                 "Let operators that MPS lacks run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK=1)");
  verb->add_flag("--sync", options->sync,
                 "Raise errors that the device finds at the line that made them, not at the next synchronisation "
                 "(ANYMPS_SYNC=1)");
  verb->add_option("--versus", options->versus, "Run again with these arguments added, and compare the speed")
      ->type_name("ARGS");
  verb->add_option("--keep", options->keep, "Keep the traces and summary.json in this new folder")->type_name("DIR");
  verb->add_option("--json", options->json, "Write the figures to this file, too")->type_name("FILE");
  verb->add_flag("--quiet", options->quiet, "Show no figures");
  verb->footer(R"(COMMAND is a .py file or -m module, which the environment's Python runs, or any program.
Its output, its input and its status are passed on; the figures go to standard error.

Examples:
  anymps run train.py --epochs 3
  anymps run --mac m2-8gb --macos 14.5 train.py
  anymps run --versus "--device cpu" train.py
  anymps run --json figures.json -- torchrun --nproc-per-node 2 train.py
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) { return run_command(*options, command); };
  });
}

}  // namespace anymps::cli
