#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/sr/device.h"
#include "cli/sr/interrupt.h"
#include "cli/sr/verbs.h"
#include "lab/base/json_text.h"
#include "lab/base/log_line.h"
#include "lab/runbook/screen/progress.h"
#include "superres/training/loop.h"
#include "superres/training/training.h"
#include "superres/training/training_log.h"

namespace anymps::cli::sr {
namespace {

using nlohmann::json;

struct TrainOptions {
  std::string data;
  std::string folder;
  std::string config;
  DeviceChoice device;
  json given = json::object();  // as in the config file
  superres::training::DeviceWishes wishes;
  std::uint64_t log_every = 10;
  bool json_output = false;
  bool quiet = false;
};

superres::training::TrainingOptions training_options(const TrainOptions& options) {
  superres::training::TrainingOptions training;
  if (!options.config.empty()) {
    std::ifstream file(options.config);
    const json read = json::parse(file, nullptr, false, /*ignore_comments=*/true);
    if (!file || read.is_discarded()) throw std::invalid_argument(options.config + ": it is no JSON");
    try {
      training.update(read);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: {}", options.config, error.what()));
    }
  }
  training.update(options.given);
  training.check();
  return training;
}

class TrainCommand {
 public:
  explicit TrainCommand(const TrainOptions& options)
      : options_(options),
        settings_(training_options(options)),
        store_(superres::files::Store::open(options.data)),
        policy_(
            superres::training::training_policy(options.device.open(), settings_.network.upsampler, options.wishes)) {
    const int packed = store_.settings().value("scale", 0);
    if (packed != settings_.network.scale) {
      throw std::invalid_argument(fmt::format("{}: it was packed for scale {}, and the network is for {}", options.data,
                                              packed, settings_.network.scale));
    }
  }

  int run() {
    superres::training::Training training(settings_, policy_, store_, options_.folder);
    superres::training::TrainingLog log(options_.folder, training.step());
    for (const std::string& reason : policy_.reasons)
      lab::base::say_info(fmt::format("{}: {}", options_.device.name, reason));
    for (const std::string& variable : superres::training::mps_variables()) lab::base::say_info(variable);
    lab::base::say_info(
        fmt::format("training {} for {} steps, {}", settings_.network.kind, settings_.steps, training.beginning()));
    log.add({{"step", training.step()},
             {"event", "begin"},
             {"device", options_.device.name},
             {"policy", policy_.reasons},
             {"variables", superres::training::mps_variables()},
             {"settings", settings_.to_json()}});
    lab::runbook::screen::Progress progress("sr train", !options_.quiet);
    const auto show = [&](const superres::training::StepReport& report) {
      const auto share = static_cast<double>(report.step) / static_cast<double>(settings_.steps);
      progress.at(share, fmt::format("step {} of {}, loss {:.4f}", report.step, settings_.steps, report.loss));
    };
    const superres::training::Validation last =
        superres::training::train(training, settings_, policy_, log,
                                  {.log_every = options_.log_every, .stop = &stop_on_interrupt(), .told = show});
    progress.clear();
    log.write_page(fmt::format("{}, scale {}", settings_.network.kind, settings_.network.scale));
    const bool done = training.is_done();
    if (!done) {
      lab::base::say_warning(
          fmt::format("stopped at step {} and saved; the same command goes on from there", training.step()));
    }
    if (options_.json_output) {
      json document = superres::training::to_json(last);
      document.update({{"step", training.step()}, {"done", done}, {"model", options_.folder + "/model.safetensors"}});
      std::cout << lab::base::json_pages(document);
    } else if (done && settings_.validation == 0) {
      fmt::print("{}/model.safetensors\n", options_.folder);
    } else if (done) {
      fmt::print("PSNR {:.2f} dB (bicubic {:.2f}), SSIM {:.4f}, {}/model.safetensors\n", last.psnr, last.bicubic_psnr,
                 last.ssim, options_.folder);
    }
    return done ? 0 : kBad;
  }

 private:
  const TrainOptions& options_;
  superres::training::TrainingOptions settings_;
  superres::files::Store store_;
  superres::training::DevicePolicy policy_;
};

// An option whose value goes where the config file has it.
template <typename Value>
void add_setting(CLI::App& verb, const std::shared_ptr<TrainOptions>& options, const char* flag,
                 const json::json_pointer& place, const char* what) {
  verb.add_option_function<Value>(flag, [options, place](const Value& value) { options->given[place] = value; }, what);
}

}  // namespace

void add_train(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* verb = app.add_subcommand("train", "Train a network on a database");
  verb->add_option("--data", options->data, "What anymps sr pack made")->required()->type_name("DB");
  verb->add_option("--out", options->folder, "The folder of this training; a training that is in it already goes on")
      ->required()
      ->type_name("FOLDER");
  options->device.add(*verb);
  verb->add_option("--config", options->config, "Settings as JSON; what is said here goes before")->type_name("FILE");
  const auto at = [](const char* text) { return json::json_pointer(text); };
  add_setting<int>(*verb, options, "--scale", at("/network/scale"), "2, 3 or 4 (2)");
  add_setting<std::uint64_t>(*verb, options, "--steps", at("/steps"), "Steps in all (1000)");
  add_setting<std::string>(*verb, options, "--network", at("/network/kind"), "edsr, plksr or realplksr (edsr)");
  add_setting<std::string>(*verb, options, "--upsampler", at("/network/upsampler"),
                           "pixelshuffle or dysample (pixelshuffle)");
  add_setting<int>(*verb, options, "--batch", at("/batch"), "Crops in a batch (16)");
  add_setting<int>(*verb, options, "--accumulate", at("/accumulate"), "Batches for a step (1)");
  add_setting<int>(*verb, options, "--crop", at("/crop"), "Side of a crop at low resolution (48)");
  add_setting<std::uint64_t>(*verb, options, "--seed", at("/seed"), "Of weights and crops (0)");
  add_setting<std::string>(*verb, options, "--init", at("/init"),
                           "A model to begin with; what another upsampler has begins anew");
  verb->add_option("--workers", options->wishes.workers, "Threads that read ahead (by the device's policy)")
      ->check(CLI::Range(0, 64));
  verb->add_option("--pin-memory", options->wishes.pin_memory, "true or false (by the device's policy)");
  verb->add_option("--use-amp", options->wishes.amp, "true or false (by the device's policy)");
  verb->add_flag("--keep-dysample", options->wishes.keep_dysample, "Train DySample on mps all the same");
  verb->add_option("--log-every", options->log_every, "Steps between two lines of the log")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_flag("--json", options->json_output, "Print one JSON document at the end");
  verb->add_flag("--quiet", options->quiet, "No progress bar");
  verb->footer(
      R"(Ctrl-C saves; the same command goes on from there, to the bit. In the folder: model.safetensors (the average of the
weights), checkpoint.safetensors, log.jsonl, curves.html. What the device changes is told with its reason.
A config file has the other settings: network.{kind, scale, upsampler, width, blocks, kernel}, optimizer, learning_rate,
last_learning_rate, warm_up, weight_decay, ema, clip, accumulate, checkpointing, frequency, validation, validate_every,
checkpoint_every.
A training with DySample is not continued on mps: it says how else.
Status: 0 trained to the end, 1 interrupted and saved, 2 it could not run.

Examples:
  anymps sr train --data train.lmdb --scale 2 --steps 20000 --out runs/edsr
  anymps sr train --data train.lmdb --device cpu --network plksr --upsampler dysample --out runs/plksr
)");
  verb->callback([options, &chosen] { chosen = [options] { return TrainCommand(*options).run(); }; });
}

}  // namespace anymps::cli::sr
