#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/options/mac_options.h"
#include "cli/options/traced_run.h"
#include "cli/verbs.h"
#include "gpu/support/byte_size.h"
#include "gpu/support/whole_number.h"
#include "lab/base/json_text.h"
#include "lab/base/log.h"
#include "lab/base/safe_text.h"
#include "lab/base/terminal.h"
#include "lab/host/child.h"
#include "lab/host/python.h"
#include "lab/host/resident_set.h"
#include "lab/host/run_folder.h"
#include "lab/runbook/trial/command_setting.h"
#include "lab/size/html.h"
#include "lab/size/report.h"
#include "lab/size/screen.h"
#include "lab/trace/reader.h"
#include "lab/trace/run_summary.h"

namespace anymps::cli {
namespace {

struct SizeOptions {
  options::MacChoice choice;
  std::string other_apps;
  std::string batch_argument;
  std::string json;
  std::string html;
};

struct Measured {
  lab::host::ChildResult result;
  lab::trace::RunSummary run;
  lab::host::ResidentSet resident;
};

// The Mac with the most memory: its largest buffer stands in the way of the fewest runs.
const gpu::history::MacProfile& roomiest_mac() {
  return *std::ranges::max_element(gpu::history::all_macs(), {},
                                   [](const gpu::history::MacProfile& mac) { return mac.memory.value; });
}

Measured measure(const SizeOptions& options, lab::host::ChildCommand command, const std::string& folder, bool count) {
  options::trace_into(command, folder);
  command.environment["ANYMPS_MAC"] = roomiest_mac().name;
  command.environment["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "0.0";
  if (count) command.environment["ANYMPS_COUNT_STEP"] = "1";
  options.choice.put_into(command.environment);
  lab::host::ResidentSetWatch watch;
  Measured measured;
  measured.result = lab::host::run_child(command, lab::host::ChildOutput::kToError);
  measured.resident = watch.peak();
  measured.run = lab::trace::summarise(command, measured.result, lab::trace::read_run(folder));
  return measured;
}

// The status to end with where there is nothing to report: the child's own, or 1 where it did not use the device.
std::optional<int> failed(const Measured& measured, const lab::host::ChildCommand& command) {
  if (!measured.result.start_error.empty()) {
    options::say_not_started(command, measured.result);
    return measured.result.status();
  }
  if (measured.result.status() != 0 || measured.result.interrupted) {
    lab::base::log().error("the run ended with status {}, so its size is not known", measured.result.status());
    return measured.result.status() != 0 ? measured.result.status() : 1;
  }
  if (measured.run.processes == 0 || measured.run.memory.block_bytes == 0) {
    lab::base::log().error("the run took no memory on the mps device, so there is no size to tell");
    return 1;
  }
  return std::nullopt;
}

double fact(const lab::trace::RunSummary& run, const char* key) {
  const auto found = run.facts.find(key);
  return found != run.facts.end() ? std::strtod(found->second.c_str(), nullptr) : 0;
}

int size(const SizeOptions& options, const std::vector<std::string>& command) {
  if (command.empty()) {
    lab::base::log().error("nothing to run; for example: anymps size train.py (see anymps size --help)");
    return options::kUsageError;
  }
  const auto chosen = options.choice.resolve();
  if (!chosen || !options::can_write("--json", options.json) || !options::can_write("--html", options.html))
    return options::kUsageError;
  lab::size::SizeReport report;
  report.macos = chosen->macos;
  if (!options.other_apps.empty()) {
    const auto bytes = gpu::support::parse_byte_size(options.other_apps);
    if (!bytes) {
      lab::base::log().error("--other-apps: `{}` is no size, such as 4gb or 512mb", options.other_apps);
      return options::kUsageError;
    }
    report.figures.other_bytes = *bytes;
  }
  lab::host::ChildCommand child{lab::host::with_python(command), {}};
  const lab::runbook::trial::CommandSetting setting{options.batch_argument};
  std::uint64_t given = 0;
  if (!options.batch_argument.empty()) {
    given = gpu::support::whole_number(setting.value_in(child.words).value_or("")).value_or(0);
    if (given < 4) {
      lab::base::log().error("--batch-arg: the command has no {} of 4 or more", options.batch_argument);
      return options::kUsageError;
    }
  }

  const lab::host::RunFolder folder = lab::host::RunFolder::temporary();
  const Measured first = measure(options, child, folder.make_part("run"), true);
  if (const auto status = failed(first, child)) return *status;
  report.run = first.run;
  report.figures.largest_buffer = first.run.memory.largest_buffer_bytes;
  report.figures.block_bytes = first.run.memory.block_bytes;
  report.figures.resident_bytes = first.resident.bytes;
  report.figures.step_flops = fact(first.run, "step_flops");
  report.figures.step_bytes = fact(first.run, "step_bytes");
  report.processes = first.resident.processes;
  report.shared_once = first.resident.shared_once;

  if (given > 0) {
    lab::size::BatchFigures batch{options.batch_argument,
                                  {given},
                                  {report.figures.block_bytes},
                                  {report.figures.resident_bytes},
                                  {report.figures.largest_buffer}};
    const auto run_with = [&](std::uint64_t size) {
      lab::host::ChildCommand again = child;
      setting.apply(std::to_string(size), again.words, again.environment);
      lab::base::log().info("the same again with {} {}", options.batch_argument, size);
      const Measured other = measure(options, again, folder.make_part(fmt::format("batch-{}", size)), false);
      const std::optional<int> status = failed(other, again);
      if (status) return status;
      batch.batches.push_back(size);
      batch.block_bytes.push_back(other.run.memory.block_bytes);
      batch.largest_buffer.push_back(other.run.memory.largest_buffer_bytes);
      batch.resident_bytes.push_back(other.resident.bytes);
      return status;
    };
    for (const std::uint64_t smaller : {given / 2, given / 4}) {
      if (const auto status = run_with(smaller)) return *status;
    }
    // Where something else holds the peak, larger batches get above it. One that fails ends that, and costs no answer.
    for (const std::uint64_t larger : {2 * given, 4 * given, 8 * given}) {
      if (batch.is_straight() || run_with(larger)) break;
    }
    batch.keep_largest();
    report.batch = std::move(batch);
  }

  lab::size::judge(report);
  lab::base::print_screen(stdout, lab::size::size_screen(report, lab::base::Terminal::behind(STDOUT_FILENO)));
  options::write_text(options.json, lab::base::json_pages(lab::size::to_json(report)));
  options::write_text(options.html, lab::size::size_html(report));
  return 0;
}

}  // namespace

void add_size(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<SizeOptions>();
  CLI::App* verb = app.add_subcommand("size", "Run once without a limit; tell on which Macs it would fit");
  verb->prefix_command();
  options->choice.add_macos(*verb);
  options->choice.add_as_torch(*verb);
  verb->add_option("--other-apps", options->other_apps, "Memory that other apps take on the Mac, such as 4gb")
      ->type_name("SIZE");
  verb->add_option("--batch-arg", options->batch_argument,
                   "The command's option for the batch size: run twice more with smaller ones, and extrapolate")
      ->type_name("OPTION");
  verb->add_option("--json", options->json, "Write the figures to this file, too")->type_name("FILE");
  verb->add_option("--html", options->html, "Draw the picture into this file, too")->type_name("FILE");
  verb->footer(R"(COMMAND is as for anymps run. Its output goes to standard error; the answer goes to standard output.

Examples:
  anymps size train.py --epochs 1
  anymps size --other-apps 4gb --html size.html train.py
  anymps size --batch-arg --batch-size train.py --batch-size 64
)");
  verb->callback([options, &chosen] {
    chosen = [options](const std::vector<std::string>& command) { return size(*options, command); };
  });
}

}  // namespace anymps::cli
