// `anymps replay`: a capture of Metal launches, run again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/metal/verbs.h"
#include "lab/base/safe_text.h"
#include "lab/metallib/capture_replay.h"

namespace anymps::cli::metal {
namespace {

struct ReplayOptions {
  lab::metallib::ReplayRequest request;
  bool list = false;
  bool json = false;
};

int list_launches(const ReplayOptions& options) {
  const lab::metallib::MetalAnswer answer = lab::metallib::ask_metal({"capture", options.request.folder});
  if (!answer.answered) return complain(answer);
  const auto capture = nlohmann::json::parse(answer.text);
  if (options.json) {
    lab::base::print_text(stdout, capture.dump(2) + "\n");
  } else {
    lab::base::print_screen(stdout, lab::metallib::capture_screen(capture));
  }
  return 0;
}

int replay(const ReplayOptions& options) {
  const ProgressLine line;
  const lab::metallib::CaptureReplay found = lab::metallib::replay_capture(
      options.request, [&line](std::size_t done, std::size_t of) { line.show(done, of); });
  line.clear();
  if (found.problem) return complain(*found.problem);
  if (options.json) {
    lab::base::print_text(stdout, lab::metallib::to_json(found).dump(2) + "\n");
  } else {
    lab::base::print_screen(stdout, lab::metallib::to_text(found));
  }
  if (found.interrupted) return kInterrupted;
  if (found.refusals != 0) return kRefused;
  return found.differing != 0 || found.reports != 0 ? kFound : 0;
}

constexpr const char* kReplayHelp =
    R"text(A capture is the folder that torch.mps.profiler.metal_capture() leaves, with MTL_CAPTURE_ENABLED=1 in the environment.
Each launch gets the buffers that it had, by itself, and what it leaves in them is compared with what was captured, to the
bit. The status is 1 where something differs or the sanitiser finds something, 2 where a launch cannot be run.

Examples:
  MTL_CAPTURE_ENABLED=1 python train.py             with metal_capture("step") around a step
  anymps replay 0000-step.gputrace                  all launches
  anymps replay 0000-step.gputrace --list           what there is
  anymps replay 0000-step.gputrace --kernel scale --validate     those of one kernel, with the sanitiser
  anymps replay 0000-step.gputrace --launch 7 --source           after changing kernels/*.metal: is the result the same?
)text";

}  // namespace

void add_replay(CLI::App& app, options::Action& chosen) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* verb = app.add_subcommand("replay", "Run the Metal launches of a capture again, and compare");
  verb->footer(kReplayHelp);
  verb->add_option("CAPTURE", options->request.folder, "The folder")->required()->type_name("FOLDER");
  verb->add_option("--launch", options->request.launches, "Only this one, by its number; may be given again")
      ->type_name("N")
      ->allow_extra_args(false);
  verb->add_option("--kernel", options->request.kernel, "Only launches of this kernel")->type_name("NAME");
  verb->add_flag("--validate", options->request.validate, "Watch them with the sanitiser");
  verb->add_flag("--source", options->request.from_source, "Compile the source in the folder, as it is now");
  verb->add_option("--tolerance", options->request.tolerance,
                   "By which part of the larger one floats may differ; without it not at all")
      ->type_name("T")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_flag("--list", options->list, "Show what the capture holds, and run nothing");
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options, &chosen] {
    chosen = [options](const auto&) { return options->list ? list_launches(*options) : replay(*options); };
  });
}

}  // namespace anymps::cli::metal
