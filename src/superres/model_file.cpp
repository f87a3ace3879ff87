#include "superres/model_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace anymps::superres {
namespace {

// Blocks whose numbers follow each other from `first` on.
int count_blocks(const Weights& weights, const std::string& before, int first, const std::string& after) {
  int count = 0;
  while (weights.find(fmt::format("{}{}{}", before, first + count, after)).defined()) ++count;
  return count;
}

int root_of(std::int64_t squared) { return static_cast<int>(std::lround(std::sqrt(static_cast<double>(squared)))); }

// DySample's offsets have two coordinates for each group and place in the square.
int dysample_scale(const Weights& weights, const std::string& prefix, std::int64_t groups) {
  return root_of(weights.find(prefix + "offset.weight").size(0) / (2 * groups));
}

NetworkOptions recognised_edsr(const Weights& weights) {
  NetworkOptions options;
  options.kind = "edsr";
  options.width = static_cast<int>(weights.find("conv_first.weight").size(0));
  options.blocks = count_blocks(weights, "body.", 0, ".conv1.weight");
  if (weights.find("upsample.offset.weight").defined()) {
    options.upsampler = Upsampler::kDySample;
    options.scale = dysample_scale(weights, "upsample.", 4);
  } else if (const at::Tensor first = weights.find("upsample.0.weight"); first.defined()) {
    options.scale = weights.find("upsample.2.weight").defined() ? 4 : root_of(first.size(0) / options.width);
  }
  return options;
}

NetworkOptions recognised_plksr(const Weights& weights) {
  NetworkOptions options;
  options.kind = weights.find("feats.1.norm.weight").defined() ? "realplksr" : "plksr";
  options.width = static_cast<int>(weights.find("feats.0.weight").size(0));
  options.kernel = static_cast<int>(weights.find("feats.1.lk.conv.weight").size(2));
  options.blocks = count_blocks(weights, "feats.", 1, ".lk.conv.weight");
  const int last = options.blocks + (options.kind == "realplksr" ? 2 : 1);
  if (const at::Tensor weight = weights.find(fmt::format("feats.{}.weight", last)); weight.defined()) {
    options.scale = root_of(weight.size(0) / 3);
  }
  if (weights.find("to_img.offset.weight").defined()) options.upsampler = Upsampler::kDySample;
  return options;
}

}  // namespace

void put_network(const Network& network, const std::string& prefix, Weights& weights) {
  for (const auto& entry : network.named_parameters()) {
    weights.tensors.emplace_back(prefix + entry.key(), entry.value().detach().cpu());
  }
  for (const auto& entry : network.named_buffers()) {
    weights.tensors.emplace_back(prefix + entry.key(), entry.value().detach().cpu());
  }
}

void take_network(const Weights& weights, const std::string& prefix, Network& network) {
  const at::NoGradGuard constant;
  const auto take = [&](const auto& entries) {
    for (const auto& entry : entries) {
      const at::Tensor found = weights.find(prefix + entry.key());
      if (!found.defined()) throw WeightsError(fmt::format("it has no tensor {}", entry.key()));
      if (found.sizes() != entry.value().sizes()) {
        throw WeightsError(fmt::format("its tensor {} is of another shape than the network's", entry.key()));
      }
      entry.value().copy_(found);
    }
  };
  take(network.named_parameters());
  take(network.named_buffers());
}

std::size_t take_matching(const Weights& weights, Network& network) {
  const at::NoGradGuard constant;
  std::size_t left = 0;
  for (const auto& entry : network.named_parameters()) {
    const at::Tensor found = weights.find(entry.key());
    if (found.defined() && found.sizes() == entry.value().sizes()) {
      entry.value().copy_(found);
    } else {
      ++left;
    }
  }
  return left;
}

NetworkOptions recognised(const Weights& weights) {
  NetworkOptions options;
  if (weights.find("conv_first.weight").defined() && weights.find("body.0.conv1.weight").defined()) {
    options = recognised_edsr(weights);
  } else if (weights.find("feats.0.weight").defined() && weights.find("feats.1.lk.conv.weight").defined()) {
    options = recognised_plksr(weights);
  } else {
    throw WeightsError("its tensors are those of no network that is known here (edsr, plksr, realplksr)");
  }
  try {
    options.check();
  } catch (const std::invalid_argument& error) {
    throw WeightsError(error.what());
  }
  return options;
}

std::shared_ptr<Network> load_model(const std::filesystem::path& path, NetworkOptions& options) {
  const Weights weights = read_weights(path);
  try {
    options = recognised(weights);
    std::shared_ptr<Network> network = make_network(options);
    take_network(weights, "", *network);
    network->eval();
    return network;
  } catch (const WeightsError& error) {
    throw WeightsError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace anymps::superres
