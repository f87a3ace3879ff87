#include <fmt/format.h>

#include <stdexcept>

#include "superres/training/training.h"

namespace anymps::superres::training {
namespace {

using nlohmann::json;

void need(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

void TrainingOptions::check() const {
  network.check();
  need(steps > 0 && steps <= 1'000'000'000, "steps are from 1 to a thousand million");
  need(data.batch > 0, "the batch must have at least one crop");
  need(data.crop >= 8, fmt::format("a crop of {} pixels is too small: take 8 or more", data.crop));
  need(optimizer == "adam" || optimizer == "adamw", fmt::format("`{}` is neither adam nor adamw", optimizer));
  need(learning_rate > 0, "the learning rate must be above 0");
  need(last_learning_rate >= 0 && last_learning_rate <= learning_rate, "the last learning rate is above the first");
  need(ema >= 0 && ema < 1, "ema is a share from 0 to below 1");
  need(clip >= 0 && weight_decay >= 0 && frequency >= 0, "clip, weight_decay and frequency must not be below 0");
  need(accumulate > 0, "accumulate must be at least 1");
  need(validate_every > 0 && checkpoint_every > 0, "validate_every and checkpoint_every must be at least 1");
}

json TrainingOptions::to_json() const {
  return {{"network", network.to_json()},
          {"checkpointing", network.checkpointing},
          {"batch", data.batch},
          {"crop", data.crop},
          {"steps", steps},
          {"seed", seed},
          {"init", init},
          {"optimizer", optimizer},
          {"learning_rate", learning_rate},
          {"last_learning_rate", last_learning_rate},
          {"warm_up", warm_up},
          {"weight_decay", weight_decay},
          {"ema", ema},
          {"clip", clip},
          {"accumulate", accumulate},
          {"frequency", frequency},
          {"validation", validation},
          {"validate_every", validate_every},
          {"checkpoint_every", checkpoint_every}};
}

void TrainingOptions::update(const json& wanted) {
  need(wanted.is_object(), "the settings must be a JSON object");
  const json known = to_json();
  for (const auto& [name, _] : wanted.items()) {
    need(known.contains(name), fmt::format("there is no setting `{}`", name));
  }
  try {
    if (wanted.contains("network")) {
      const bool kept = network.checkpointing;
      json merged = network.to_json();
      for (const auto& [name, value] : wanted["network"].items()) {
        need(merged.contains(name), fmt::format("a network has no setting `{}`", name));
        merged[name] = value;
      }
      network = networks::NetworkOptions::from_json(merged);
      network.checkpointing = kept;
    }
    network.checkpointing = wanted.value("checkpointing", network.checkpointing);
    data.batch = wanted.value("batch", data.batch);
    data.crop = wanted.value("crop", data.crop);
    steps = wanted.value("steps", steps);
    seed = wanted.value("seed", seed);
    init = wanted.value("init", init);
    optimizer = wanted.value("optimizer", optimizer);
    learning_rate = wanted.value("learning_rate", learning_rate);
    last_learning_rate = wanted.value("last_learning_rate", last_learning_rate);
    warm_up = wanted.value("warm_up", warm_up);
    weight_decay = wanted.value("weight_decay", weight_decay);
    ema = wanted.value("ema", ema);
    clip = wanted.value("clip", clip);
    accumulate = wanted.value("accumulate", accumulate);
    frequency = wanted.value("frequency", frequency);
    validation = wanted.value("validation", validation);
    validate_every = wanted.value("validate_every", validate_every);
    checkpoint_every = wanted.value("checkpoint_every", checkpoint_every);
  } catch (const json::exception& error) {
    throw std::invalid_argument(fmt::format("a setting is of the wrong kind: {}", error.what()));
  }
}

}  // namespace anymps::superres::training
