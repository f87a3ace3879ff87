#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/options/mac_options.h"
#include "cli/options/runbook_options.h"
#include "cli/options/traced_run.h"
#include "cli/verbs.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/base/terminal.h"
#include "lab/check/html.h"
#include "lab/check/json.h"
#include "lab/check/junit.h"
#include "lab/check/report.h"
#include "lab/check/rules.h"
#include "lab/check/sarif.h"
#include "lab/check/screen.h"
#include "lab/host/child.h"
#include "lab/host/python.h"
#include "lab/host/run_folder.h"
#include "lab/trace/reader.h"
#include "lab/trace/run_summary.h"

namespace anymps::cli {
namespace {

constexpr const char* kStandardOutput = "-";
constexpr const char* kNever = "never";
// The steps of a long run must still be there at its end: memory that grows is seen in them.
constexpr const char* kEvents = "131072";

using Writer = std::string (*)(const lab::check::CheckReport& report);

struct Format {
  const char* option;
  const char* help;
  Writer write;
};
constexpr std::array kFormats = {
    Format{"--json", "Write everything to FILE, for programs", lab::check::check_json},
    Format{"--sarif", "Write SARIF 2.1.0 to FILE, which GitHub shows beside the code", lab::check::check_sarif},
    Format{"--junit", "Write JUnit's XML to FILE, a test case for each rule", lab::check::check_junit},
    Format{"--html", "Write a page to FILE that needs nothing else", lab::check::check_html},
};

struct CheckOptions {
  options::MacChoice choice;
  std::string fail_on = "warning";
  bool strict = false;
  bool stop_at_refusal = false;
  bool rules = false;
  bool quiet = false;
  std::string keep;
  std::string from;
  std::string baseline;
  std::string write_baseline;
  std::array<std::string, kFormats.size()> files;

  bool takes_standard_output() const { return std::ranges::find(files, kStandardOutput) != files.end(); }
  lab::check::CheckPolicy policy() const { return {strict, lab::check::severity_from(fail_on), accepted}; }

  lab::check::Baseline accepted;  // what `baseline` has
};

bool can_write_all(const CheckOptions& options) {
  if (std::ranges::count(options.files, kStandardOutput) > 1) {
    lab::base::log().error("only one report can go to standard output (-)");
    return false;
  }
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (options.files[i] != kStandardOutput && !options::can_write(kFormats[i].option, options.files[i])) return false;
  }
  return true;
}

void write_all(const CheckOptions& options, const lab::check::CheckReport& report) {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (options.files[i].empty()) continue;
    const std::string text = kFormats[i].write(report);
    if (options.files[i] == kStandardOutput) {
      lab::base::print_text(stdout, text);
    } else {
      options::write_text(options.files[i], text);
    }
  }
}

int report_on(const CheckOptions& options, const lab::host::ChildCommand& command, const lab::host::ChildResult& result,
              const std::vector<lab::trace::TraceFile>& traces) {
  const lab::check::CheckReport report = lab::check::check_report(command, result, traces, options.policy());
  if (!options.quiet) {
    const std::string screen = lab::check::check_screen(report, lab::base::Terminal::behind(STDERR_FILENO));
    lab::base::print_screen(stderr, screen);
  }
  write_all(options, report);
  if (!options.write_baseline.empty()) {
    lab::check::Baseline baseline = lab::check::Baseline::of(report.findings);
    baseline.entries.insert(options.accepted.entries.begin(), options.accepted.entries.end());
    options::write_text(options.write_baseline, baseline.text());
  }
  if (report.command_failed()) return options::kUsageError;
  return report.has_failures() ? 1 : 0;
}

int check_finished(const CheckOptions& options, const std::vector<std::string>& command) {
  if (!command.empty()) {
    lab::base::log().error("--from reports on a run that has ended, so it takes no command");
    return options::kUsageError;
  }
  const std::vector<lab::trace::TraceFile> traces = lab::trace::read_run(options.from);
  if (std::ranges::none_of(traces, [](const lab::trace::TraceFile& trace) { return trace.error.empty(); })) {
    lab::base::log().error("--from: there is no trace in {}", options.from);
    return options::kUsageError;
  }
  return report_on(options, {CLI::detail::split(traces.front().command, ' '), {}}, {}, traces);
}

std::optional<lab::host::RunFolder> folder_for(const CheckOptions& options) {
  try {
    return options.keep.empty() ? lab::host::RunFolder::temporary() : lab::host::RunFolder::kept(options.keep);
  } catch (const std::runtime_error& error) {
    lab::base::log().error("{}{}", options.keep.empty() ? "" : "--keep: ", error.what());
    return std::nullopt;
  }
}

int check_command(CheckOptions& options, const std::vector<std::string>& command) {
  if (options.rules) {
    const std::string rules = lab::check::rules_screen(lab::base::Terminal::behind(STDOUT_FILENO));
    lab::base::print_screen(stdout, rules);
    return 0;
  }
  if (!can_write_all(options) || !options::can_write("--write-baseline", options.write_baseline))
    return options::kUsageError;
  if (!options.baseline.empty()) {
    try {
      options.accepted = lab::check::Baseline::read(options.baseline);
    } catch (const std::runtime_error& error) {
      lab::base::log().error("--baseline: {}", error.what());
      return options::kUsageError;
    }
  }
  if (!options.from.empty()) return check_finished(options, command);
  if (command.empty()) {
    lab::base::log().error("nothing to check; for example: anymps check train.py (see anymps check --help)");
    return options::kUsageError;
  }
  if (!options.choice.resolve()) return options::kUsageError;
  const std::optional<lab::host::RunFolder> folder = folder_for(options);
  if (!folder) return options::kUsageError;

  lab::host::ChildCommand child{lab::host::with_python(command), {}};
  options::trace_into(child, folder->path());
  options.choice.put_into(child.environment);
  child.environment["ANYMPS_CHECK"] = options.stop_at_refusal ? "stop" : "1";
  child.environment["ANYMPS_TRACE_EVENTS"] = kEvents;
  const lab::host::ChildResult result = lab::host::run_child(
      child, options.takes_standard_output() ? lab::host::ChildOutput::kToError : lab::host::ChildOutput::kInherit);
  if (!result.start_error.empty()) {
    options::say_not_started(child, result);
    return options::kUsageError;
  }
  return report_on(options, child, result, lab::trace::read_run(folder->path()));
}

}  // namespace

void add_check(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* verb = app.add_subcommand("check", "Run a script or program; say what in it is not ready for a Mac");
  verb->prefix_command();
  options->choice.add_mac(*verb);
  options->choice.add_macos(*verb);
  options->choice.add_as_torch(*verb);
  options->choice.add_platform(*verb);
  verb->add_option("--fail-on", options->fail_on,
                   "The least severity that ends with status 1: error, warning (default), note, or never")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"error", "warning", "note", kNever}).description(""));
  verb->add_flag("--strict", options->strict, "Take what is known to fail on Macs for an error");
  verb->add_flag("--stop-at-refusal", options->stop_at_refusal,
                 "Raise at an operator that MPS lacks, as a Mac does; otherwise it goes on, to find them all");
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    verb->add_option(kFormats[i].option, options->files[i], kFormats[i].help)->type_name("FILE");
  }
  verb->add_option("--keep", options->keep, "Keep the traces in this new folder")->type_name("DIR");
  verb->add_option("--from", options->from, "Run nothing; report on the traces in this folder")->type_name("DIR");
  verb->add_option("--baseline", options->baseline, "Accept the findings that this file lists")->type_name("FILE");
  verb->add_option("--write-baseline", options->write_baseline, "Write what is found to FILE, as a baseline")
      ->type_name("FILE");
  verb->add_flag("--rules", options->rules, "List all rules: what is looked for, why, and what to do");
  verb->add_flag("--quiet", options->quiet, "Show nothing, only write the files");
  verb->footer(
      R"(COMMAND is a .py file, a notebook (.ipynb) or -m module, which the environment's Python runs, or any program. It runs on
the mps device of a simulated Mac, and everything that would fail, slow down or go wrong there is found in one run:
an operator that MPS lacks is noted and done on the CPU. A short run will do: a few dozen steps.

A finding is accepted by a comment at its line, # anymps: ignore[rule], or by a baseline: --write-baseline once, then
--baseline. An operator whose refusal the program catches (except NotImplementedError) is refused, and is no finding.

A FILE of - is standard output; what the program prints goes to standard error then, where the report goes as well.
Status: 0 nothing of --fail-on found, 1 something found, 2 the command failed or could not be started. A program that never
imported torch is not faulted: status 0, and a warning that nothing was checked.

Examples:
  anymps check train.py --steps 30                       what to change before it runs on a Mac
  anymps check --mac m2-8gb --as-torch 2.8 train.py      ... on that Mac, with that release of PyTorch
  anymps check --fail-on error --sarif out.sarif train.py   for continuous integration
  anymps check --baseline known.tsv train.py             only what is new
  anymps check study.ipynb                               all cells of a notebook
  anymps check --json - train.py | jq .counts            for programs
  anymps check --rules                                   what is looked for
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) {
      return options::guarded([&] { return check_command(*options, command); });
    };
  });
}

}  // namespace anymps::cli
