#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/metal/verbs.h"
#include "cli/options/command_line.h"
#include "cli/options/help_formatter.h"
#include "cli/options/version.h"
#include "cli/verbs.h"
#include "lab/base/log.h"
#include "lab/base/standard_output.h"
#include "lab/metallib/reader.h"

namespace anymps::cli {
namespace {

constexpr const char* kExamples = R"text(Examples:
  anymps run train.py --epochs 3            run an unmodified script on mps; end with one screen of figures
  anymps run --versus "--device cpu" train.py   ... and compare its speed with that of a second run
  anymps run --fallback -m mypackage.train  operators that MPS lacks run on the CPU, as on a Mac
  anymps run --mac m2-8gb train.py          on the limits of that Mac; anymps macs lists them
  anymps check train.py                     what in it is not ready for a Mac, in one run
  anymps trace train.py                     every operator and kernel: tables, and trace.json for Perfetto
  anymps replay 0000-step.gputrace          run a captured Metal launch again, and compare
  anymps size train.py                      on which Macs would the run fit?
  anymps parity --no-dropout train.py       does it compute the same on cpu and mps, with the same seed?
  anymps handoff pack -o train.tar.zst --owner ada -- python train.py   ... for another host
  anymps metal list kernels.metallib        what the functions of a Metal library ask for
  anymps coverage torch.linalg.eigh         in which releases of PyTorch it runs on MPS
  anymps doctor                             is this machine and its Python ready for a training?
  anymps log diff 3 7                       what changed between two runs, and what of it explains their figures
  anymps report                             the newest runs of the logbook as one HTML page
  anymps env                                what a bug report needs
  anymps cache clear                        remove what can be made again
  eval "$(anymps completion bash)"          complete verbs and options with the tab key
)text";

void name_group(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    verb->group("Verbs");
    name_group(*verb);
  }
}

int usage_error(const std::string& complaint, const std::vector<std::string>& words) {
  const bool has_verb = !words.empty() && !words.front().starts_with('-');
  lab::base::log().error("{} (see anymps {}--help)", complaint, has_verb ? words.front() + " " : "");
  return options::kUsageError;
}

int run_words(const std::vector<std::string>& words) {
  CLI::App app("PyTorch's MPS device for machines without an Apple GPU.", "anymps");
  app.formatter(std::make_shared<options::HelpFormatter>());
  app.set_help_flag("-h,--help", "Show this help and exit");
  app.set_version_flag("--version", "anymps " ANYMPS_VERSION, "Show the version and exit");
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.require_subcommand(1);
  app.footer(kExamples);
  options::Action chosen;
  add_run(app, chosen);
  add_check(app, chosen);
  add_trace(app, chosen);
  metal::add_replay(app, chosen);
  add_coverage(app, chosen);
  add_size(app, chosen);
  add_parity(app, chosen);
  add_handoff(app, chosen);
  add_macs(app, chosen);
  add_sweep(app, chosen);
  add_plateau(app, chosen);
  add_profile(app, chosen);
  add_decide(app, chosen);
  metal::add_metal(app, chosen);
  add_sr(app);
  add_doctor(app, chosen);
  add_log(app, chosen);
  add_report(app, chosen);
  add_env(app, chosen);
  add_cache(app, chosen);
  add_completion(app, chosen);
  name_group(app);

  if (words.empty()) {
    std::cout << app.help();
    return options::kUsageError;
  }
  if (const auto complaint = options::unknown_verb(app, words)) {
    lab::base::log().error(*complaint);
    return options::kUsageError;
  }
  const options::CommandLine line = options::cut_command(app, words);
  try {
    app.parse(std::vector<std::string>(line.own.rbegin(), line.own.rend()));  // the parser takes words from the back
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), line.own);
  }
  // A verb that takes a command lets unknown words pass; here they can only be options.
  if (const auto unknown = app.remaining(true); !unknown.empty()) {
    return usage_error(options::unknown_option(app, line.own, unknown.front()), line.own);
  }
  if (const auto complaint = options::missing_script(line.command)) {
    lab::base::log().error(*complaint);
    return options::kUsageError;
  }
  return chosen(line.command);
}

}  // namespace
}  // namespace anymps::cli

namespace {

int run_main(int argc, char** argv) {
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == anymps::lab::metallib::kMetalChild) {
      return anymps::lab::metallib::metal_child({words.begin() + 1, words.end()});
    }
    if (!words.empty() && words.front() == "sr") return anymps::cli::run_sr({words.begin() + 1, words.end()});
    return anymps::cli::run_words(words);
  } catch (const std::exception& error) {
    if (!anymps::lab::base::output_failed()) anymps::lab::base::log().error(error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) { return anymps::lab::base::status_after_output(run_main(argc, argv)); }
