#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

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
#include "lab/trace/chrome_trace.h"
#include "lab/trace/reader.h"
#include "lab/trace/screen.h"
#include "lab/trace/summary.h"

namespace anymps::cli {
namespace {

struct TraceOptions {
  options::MacChoice choice;
  std::string output = "trace.json";
  std::string json;
  std::uint64_t events = std::uint64_t{1} << 20;
  bool fallback = false;
  bool quiet = false;
};

int trace(const TraceOptions& options, const std::vector<std::string>& command) {
  if (command.empty()) {
    lab::base::log().error("nothing to run; for example: anymps trace train.py (see anymps trace --help)");
    return options::kUsageError;
  }
  if (!options.choice.resolve() || !options::can_write("--output", options.output) ||
      !options::can_write("--json", options.json)) {
    return options::kUsageError;
  }
  const lab::host::RunFolder folder = lab::host::RunFolder::temporary();
  const std::string part = folder.make_part("trace");
  lab::host::ChildCommand child{lab::host::with_python(command), {}};
  options::trace_into(child, part);
  options.choice.put_into(child.environment);
  child.environment["ANYMPS_TRACE_CALLS"] = "1";
  child.environment["ANYMPS_TRACE_EVENTS"] = std::to_string(options.events);
  if (options.fallback) child.environment["PYTORCH_ENABLE_MPS_FALLBACK"] = "1";
  const lab::host::ChildResult result = lab::host::run_child(child, lab::host::ChildOutput::kInherit);
  if (!result.start_error.empty()) {
    options::say_not_started(child, result);
    return result.status();
  }
  const std::vector<lab::trace::TraceFile> traces = lab::trace::read_run(part);
  if (traces.empty()) {
    lab::base::log().error("no process left a trace: did the program import torch, with anymps installed beside it?");
    return result.status() != 0 ? result.status() : 1;
  }
  const std::string problem = lab::trace::write_chrome_trace(traces, options.output);
  if (!problem.empty()) lab::base::log().error("{}", problem);
  const lab::trace::TraceSummary summary = lab::trace::summarise_trace(traces);
  if (!options.quiet) {
    const std::string screen = lab::trace::trace_screen(summary, lab::base::Terminal::behind(STDERR_FILENO));
    lab::base::print_screen(stderr, screen);
    if (problem.empty())
      lab::base::log().info("{}: open it in https://ui.perfetto.dev or chrome://tracing", options.output);
  }
  options::write_text(options.json, lab::base::json_pages(lab::trace::to_json(summary)));
  return result.status() == 0 && !problem.empty() ? 1 : result.status();
}

}  // namespace

void add_trace(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* verb = app.add_subcommand("trace", "Run a script or program; write down every operator and kernel");
  verb->prefix_command();
  options->choice.add_mac(*verb);
  options->choice.add_macos(*verb);
  options->choice.add_as_torch(*verb);
  verb->add_option("-o,--output", options->output, "Where the trace goes, in Chrome's format (default: trace.json)")
      ->type_name("FILE");
  verb->add_option("--json", options->json, "Write all tables and figures to FILE")->type_name("FILE");
  verb->add_option("--events", options->events, "How many of the latest events each process keeps, 64 bytes each")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24));
  verb->add_flag("--fallback", options->fallback,
                 "Let operators that MPS lacks run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK=1)");
  verb->add_flag("--quiet", options->quiet, "Show nothing, only write the file");
  verb->footer(
      R"(COMMAND is a .py file or -m module, which the environment's Python runs, or any program. Its output, its input and its
status are passed on; the tables go to standard error. What was recorded before a crash is written too.

Examples:
  anymps trace train.py --steps 20                 the busiest kernels, operators and waits; trace.json for Perfetto
  anymps trace -o slow.json --mac m2-8gb train.py  on the limits of that Mac
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) { return trace(*options, command); };
  });
}

}  // namespace anymps::cli
