#include "superres/training/loop.h"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <string>

#include "superres/device/out_of_memory.h"
#include "superres/files/first_line.h"
#include "superres/training/largest_batch.h"

namespace anymps::superres::training {
namespace {

using nlohmann::json;

[[noreturn]] void throw_too_large(const Training& training, const TrainingOptions& settings, const DevicePolicy& policy,
                                  const std::string& said) {
  TrainingOptions probed = settings;
  probed.network.upsampler = policy.upsampler;
  const auto fits = largest_batch(probed, policy);
  std::string what = "not even 1 does";
  if (fits) {
    const int crops = settings.data.batch * settings.accumulate;
    int divisor = *fits;
    while (crops % divisor != 0) --divisor;
    what = fmt::format("the largest that fits is {}. --batch {} --accumulate {} takes the same steps, from step {} on",
                       *fits, divisor, crops / divisor, training.step());
  }
  throw std::runtime_error(
      fmt::format("a batch of {} does not fit into the device's memory; {}. {}", settings.data.batch, what, said));
}

StepReport stepped(Training& training, const TrainingOptions& settings, const DevicePolicy& policy) {
  std::string out_of_memory;
  try {
    return training.take_step();
  } catch (const std::exception& error) {
    if (training.step() > 0 && training.is_whole()) training.save_checkpoint();
    if (!device::is_out_of_memory(error)) throw;
    out_of_memory = files::first_line(error.what());
  }
  // Beyond the handler, so that what the failed step held is free.
  throw_too_large(training, settings, policy, out_of_memory);
}

Validation validated(Training& training, TrainingLog& log) {
  const Validation validation = training.validate();
  json line = to_json(validation);
  line["step"] = training.step();
  log.add(line);
  return validation;
}

json line_of(const StepReport& report) {
  return {{"step", report.step},
          {"loss", report.loss},
          {"learning_rate", report.learning_rate},
          {"seconds", report.seconds},
          {"input_seconds", report.input_seconds}};
}

}  // namespace

json to_json(const Validation& validation) {
  return {{"psnr", validation.psnr}, {"ssim", validation.ssim}, {"bicubic_psnr", validation.bicubic_psnr}};
}

Validation train(Training& training, const TrainingOptions& settings, const DevicePolicy& policy, TrainingLog& log,
                 const LoopOptions& options) {
  if (training.is_done()) {
    training.save_model();  // which may be missing, where the end was that of the program
    return training.validate();
  }
  Validation last;
  while (!training.is_done() && (options.stop == nullptr || !*options.stop)) {
    const StepReport report = stepped(training, settings, policy);
    if (options.told) options.told(report);
    if (report.step % options.log_every == 0 || training.is_done()) log.add(line_of(report));
    if (report.step % settings.checkpoint_every == 0 && !training.is_done()) training.save_checkpoint();
    if (report.step % settings.validate_every == 0 && !training.is_done()) last = validated(training, log);
  }
  // In this order, so that whatever ends the program in between, the same command makes good what is missing.
  training.save_checkpoint();
  training.save_model();
  return training.is_done() ? validated(training, log) : last;
}

}  // namespace anymps::superres::training
