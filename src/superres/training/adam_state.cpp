#include "superres/training/adam_state.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>

namespace anymps::superres::training {
namespace {

template <typename State>
void put(torch::optim::Optimizer& optimizer, const std::string& prefix, weights::Weights& weights) {
  const auto& parameters = optimizer.param_groups().front().params();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = optimizer.state().find(parameters[i].unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    const auto& state = static_cast<const State&>(*found->second);
    weights.tensors.emplace_back(fmt::format("{}{}.exp_avg", prefix, i), state.exp_avg().cpu());
    weights.tensors.emplace_back(fmt::format("{}{}.exp_avg_sq", prefix, i), state.exp_avg_sq().cpu());
    weights.tensors.emplace_back(fmt::format("{}{}.step", prefix, i), at::tensor(state.step(), at::kLong));
  }
}

template <typename State>
void take(const weights::Weights& weights, const std::string& prefix, torch::optim::Optimizer& optimizer) {
  const auto& parameters = optimizer.param_groups().front().params();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor average = weights.find(fmt::format("{}{}.exp_avg", prefix, i));
    if (!average.defined()) continue;
    auto state = std::make_unique<State>();
    const auto like = [&](const at::Tensor& tensor) { return tensor.to(parameters[i].options()).clone(); };
    state->exp_avg(like(average));
    state->exp_avg_sq(like(weights.find(fmt::format("{}{}.exp_avg_sq", prefix, i))));
    state->step(weights.find(fmt::format("{}{}.step", prefix, i)).item<std::int64_t>());
    optimizer.state()[parameters[i].unsafeGetTensorImpl()] = std::move(state);
  }
}

}  // namespace

void put_adam_state(torch::optim::Optimizer& optimizer, const std::string& prefix, weights::Weights& weights) {
  if (dynamic_cast<torch::optim::AdamW*>(&optimizer) != nullptr) {
    put<torch::optim::AdamWParamState>(optimizer, prefix, weights);
  } else {
    put<torch::optim::AdamParamState>(optimizer, prefix, weights);
  }
}

void take_adam_state(const weights::Weights& weights, const std::string& prefix, torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<torch::optim::AdamW*>(&optimizer) != nullptr) {
    take<torch::optim::AdamWParamState>(weights, prefix, optimizer);
  } else {
    take<torch::optim::AdamParamState>(weights, prefix, optimizer);
  }
}

}  // namespace anymps::superres::training
