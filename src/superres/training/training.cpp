#include "superres/training/training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>

#include <chrono>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "lab/base/json_text.h"
#include "superres/enlarge/enlarge.h"
#include "superres/enlarge/tile_size.h"
#include "superres/pictures/pixels.h"
#include "superres/pictures/quality.h"
#include "superres/training/adam_state.h"
#include "superres/training/loss.h"
#include "superres/weights/model_file.h"
#include "superres/weights/weights.h"

namespace anymps::superres::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainingOptions& options, networks::Network& network) {
  if (options.optimizer == "adamw") {
    return std::make_unique<torch::optim::AdamW>(
        network.parameters(), torch::optim::AdamWOptions(options.learning_rate).weight_decay(options.weight_decay));
  }
  return std::make_unique<torch::optim::Adam>(
      network.parameters(), torch::optim::AdamOptions(options.learning_rate).weight_decay(options.weight_decay));
}

}  // namespace

Training::Training(const TrainingOptions& options, const DevicePolicy& policy, const files::Store& store,
                   const fs::path& folder)
    : options_(options),
      policy_(policy),
      has_other_upsampler_(options.network.upsampler != policy.upsampler),
      lock_(folder),
      store_(store),
      folder_(folder) {
  options_.check();
  options_.network.upsampler = policy.upsampler;
  options_.data.workers = policy.workers;
  options_.data.pin_memory = policy.pin_memory;
  options_.data.first = options_.validation;
  options_.data.scale = options_.network.scale;
  options_.data.seed = options_.seed;
  options_.data.pairs = store.size();
  if (store.size() <= options_.validation) {
    throw std::invalid_argument(
        fmt::format("the database has {} pairs, and {} of them are for validation", store.size(), options_.validation));
  }
  at::manual_seed(options_.seed);
  network_ = networks::make_network(options_.network);
  const fs::path checkpoint = folder / "checkpoint.safetensors";
  if (!fs::exists(checkpoint) && fs::exists(folder / "model.safetensors")) {
    throw std::invalid_argument(
        fmt::format("{}: there is a model without the checkpoint of its training, which would be written over; name "
                    "another --out",
                    folder.string()));
  }
  if (!fs::exists(checkpoint) && !options_.init.empty()) load_initial();
  if (options_.ema > 0) {
    average_ = networks::make_network(options_.network);
    weights::Weights weights;
    weights::put_network(*network_, "", weights);
    weights::take_network(weights, "", *average_);
    average_->to(policy.device);
    average_->eval();
  }
  network_->to(policy.device);
  network_->train();
  optimizer_ = make_optimizer(options_, *network_);
  if (fs::exists(checkpoint)) load_checkpoint(checkpoint);
  batches_ = std::make_unique<Batches>(store, options_.data, step_ * static_cast<std::uint64_t>(options_.accumulate));
}

Training::~Training() = default;

double Training::rate_at(std::uint64_t step) const {
  if (step < options_.warm_up) {
    return options_.learning_rate * static_cast<double>(step + 1) / static_cast<double>(options_.warm_up);
  }
  const double whole = std::max(1.0, static_cast<double>(options_.steps - options_.warm_up));
  const double share = std::min(1.0, static_cast<double>(step - options_.warm_up) / whole);
  return options_.last_learning_rate +
         (options_.learning_rate - options_.last_learning_rate) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

StepReport Training::take_step() {
  const auto began = Clock::now();
  StepReport report;
  report.learning_rate = rate_at(step_);
  optimizer_->param_groups().front().options().set_lr(report.learning_rate);
  optimizer_->zero_grad();
  at::Tensor total;
  for (int part = 0; part < options_.accumulate; ++part) {
    const auto asked = Clock::now();
    const Batch batch = batches_->next();
    report.input_seconds += since(asked);
    const at::Tensor low = batch.low.to(policy_.device, policy_.pin_memory);
    const at::Tensor high = batch.high.to(policy_.device, policy_.pin_memory);
    const at::Tensor loss = training_loss(*network_, low, high, options_.frequency, policy_) / options_.accumulate;
    loss.backward();
    total = total.defined() ? total + loss.detach() : loss.detach();
  }
  if (options_.clip > 0) torch::nn::utils::clip_grad_norm_(network_->parameters(), options_.clip);
  is_whole_ = false;
  optimizer_->step();
  update_average();
  is_whole_ = true;
  report.step = ++step_;
  report.loss = total.item<double>();
  report.seconds = since(began);
  return report;
}

void Training::update_average() {
  if (average_ == nullptr) return;
  const at::NoGradGuard constant;
  // The first steps would weigh too much in a long average.
  const double keep = std::min(options_.ema, static_cast<double>(step_ + 1) / static_cast<double>(step_ + 10));
  const std::vector<at::Tensor> own = network_->parameters();
  const std::vector<at::Tensor> averaged = average_->parameters();
  for (std::size_t i = 0; i < own.size(); ++i) averaged[i].lerp_(own[i], 1 - keep);
}

Validation Training::validate() {
  const at::NoGradGuard constant;
  networks::Network& network = average_ != nullptr ? *average_ : *network_;
  network.eval();
  Validation all;
  const int scale = options_.network.scale;
  enlarge::TileOptions tiles{enlarge::tile_size(options_.network, network.reach(), policy_.device), network.reach()};
  for (std::uint64_t i = 0; i < options_.validation; ++i) {
    const files::Pair pair = store_.at(i);
    const at::Tensor low = pictures::tensor_of(pictures::rgb_of(pair.low)).unsqueeze(0);
    const at::Tensor high = pictures::tensor_of(pictures::rgb_of(pair.high)).unsqueeze(0);
    const at::Tensor made =
        enlarge::enlarged_in_tiles(network, low[0], scale, policy_.device, tiles, {}).unsqueeze(0).clamp(0, 1);
    const auto share = 1 / static_cast<double>(options_.validation);
    all.psnr += share * pictures::psnr(made, high, scale);
    all.ssim += share * pictures::ssim(made, high, scale);
    all.bicubic_psnr += share * pictures::psnr(enlarge::enlarged(low, scale), high, scale);
  }
  network_->train();
  return all;
}

json Training::identity() const {
  json own = options_.to_json();
  // What may change from one sitting to the next, and leaves the results as they are.
  for (const char* name : {"validate_every", "checkpoint_every", "checkpointing"}) own.erase(name);
  // However they are split, the same crops make a step.
  for (const char* name : {"batch", "accumulate"}) own.erase(name);
  own["crops of a step"] = options_.data.batch * options_.accumulate;
  return {{"training", own}, {"data", store_.settings()}};
}

void Training::save_checkpoint() {
  weights::Weights weights;
  weights::put_network(*network_, "model.", weights);
  if (average_ != nullptr) weights::put_network(*average_, "ema.", weights);
  put_adam_state(*optimizer_, "optimizer.", weights);
  weights.tensors.emplace_back("rng.cpu", at::globalContext().defaultGenerator(at::kCPU).get_state());
  weights.about = {{"anymps", "checkpoint 1"},
                   {"step", std::to_string(step_)},
                   {"pairs", std::to_string(options_.data.pairs)},
                   {"identity", lab::base::json_line(identity())}};
  weights::write_safetensors(folder_ / "checkpoint.safetensors", weights);
}

void Training::save_model() {
  weights::Weights weights;
  weights::put_network(average_ != nullptr ? *average_ : *network_, "", weights);
  weights.about = {{"format", "pt"}, {"network", options_.network.to_json().dump()}, {"step", std::to_string(step_)}};
  weights::write_safetensors(folder_ / "model.safetensors", weights);
}

void Training::load_initial() {
  const weights::Weights weights = weights::read_weights(options_.init);
  const std::size_t own = network_->named_parameters().size();
  const std::size_t left = weights::take_matching(weights, *network_);
  if (left == own)
    throw weights::WeightsError(fmt::format("{}: none of its tensors is one of the network's", options_.init));
  beginning_ = fmt::format("with {} of {} tensors of {}{}", own - left, own, options_.init,
                           left > 0 ? "; the others begin anew" : "");
}

void Training::load_checkpoint(const fs::path& path) {
  const weights::Weights weights = weights::read_weights(path);
  const auto about = [&](const char* name) {
    const auto found = weights.about.find(name);
    return found != weights.about.end() ? found->second : std::string();
  };
  if (about("anymps") != "checkpoint 1")
    throw weights::WeightsError(path.string() + ": it is no checkpoint of this version");
  const json theirs = lab::base::json_of(about("identity"));
  if (theirs != identity()) {
    const json::json_pointer upsampler("/training/network/upsampler");
    if (has_other_upsampler_ && theirs.contains(upsampler) && theirs[upsampler] != identity()[upsampler]) {
      throw std::invalid_argument(fmt::format(
          "{}: it is of a training with {}, which on {} is trained as {}. Nothing was changed. --keep-{} goes on with "
          "it here, --device cpu elsewhere; --out OTHER --init {} begins a training with {} that takes over the rest "
          "of the network",
          path.string(), theirs[upsampler].get<std::string>(), policy_.device.str(),
          networks::name_of(policy_.upsampler), theirs[upsampler].get<std::string>(),
          (folder_ / "model.safetensors").string(), networks::name_of(policy_.upsampler)));
    }
    std::string what = "other settings";
    for (const auto& difference : json::diff(theirs, identity())) {
      const std::string place = difference.value("path", "");
      what = fmt::format("another {}", place.substr(place.rfind('/') + 1));
      break;
    }
    throw std::invalid_argument(
        fmt::format("{}: it is of a training with {}; name another --out, or the same settings", path.string(), what));
  }
  try {
    weights::take_network(weights, "model.", *network_);
    if (average_ != nullptr) weights::take_network(weights, "ema.", *average_);
    take_adam_state(weights, "optimizer.", *optimizer_);
  } catch (const weights::WeightsError& error) {
    throw weights::WeightsError(fmt::format("{}: {}", path.string(), error.what()));
  }
  if (const at::Tensor state = weights.find("rng.cpu"); state.defined()) {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    generator.set_state(state);
  }
  step_ = std::strtoull(about("step").c_str(), nullptr, 10);
  // Crops are drawn from as many pairs as there were at the beginning, whatever was packed since.
  options_.data.pairs = std::strtoull(about("pairs").c_str(), nullptr, 10);
  if (options_.data.pairs > store_.size() || options_.data.pairs <= options_.validation) {
    throw std::invalid_argument(fmt::format("{}: it is of a training on {} pairs, and the database has {}",
                                            path.string(), options_.data.pairs, store_.size()));
  }
  beginning_ = fmt::format("from step {} of its checkpoint", step_);
}

}  // namespace anymps::superres::training
