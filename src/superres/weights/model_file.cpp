#include "superres/weights/model_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace anymps::superres::weights {
namespace {

// The weight of a convolution: so that nothing below divides by a size of 0, or asks for one that is not there.
at::Tensor convolution_at(const Weights& weights, const std::string& name) {
  const at::Tensor found = weights.find(name);
  if (!found.defined() || found.dim() != 4 || found.numel() == 0) {
    throw WeightsError(fmt::format("its tensor {} is missing or no convolution's", name));
  }
  return found;
}

// Blocks whose numbers follow each other from `first` on, and whose convolutions are of that shape: a network is not
// made larger than the file.
int count_blocks(const Weights& weights, const std::string& before, int first, const std::string& after,
                 at::IntArrayRef shape) {
  int count = 0;
  while (true) {
    const at::Tensor found = weights.find(fmt::format("{}{}{}", before, first + count, after));
    if (!found.defined() || found.sizes() != shape) return count;
    ++count;
  }
}

int root_of(std::int64_t squared) { return static_cast<int>(std::lround(std::sqrt(static_cast<double>(squared)))); }

// DySample's offsets have two coordinates for each group and place in the square.
int dysample_scale(const Weights& weights, const std::string& prefix, std::int64_t groups) {
  return root_of(convolution_at(weights, prefix + "offset.weight").size(0) / (2 * groups));
}

networks::NetworkOptions recognised_edsr(const Weights& weights) {
  networks::NetworkOptions options;
  options.kind = "edsr";
  const std::int64_t width = convolution_at(weights, "conv_first.weight").size(0);
  options.width = static_cast<int>(width);
  options.blocks = count_blocks(weights, "body.", 0, ".conv1.weight", {width, width, 3, 3});
  if (weights.find("upsample.offset.weight").defined()) {
    options.upsampler = networks::Upsampler::kDySample;
    options.scale = dysample_scale(weights, "upsample.", 4);
  } else {
    const at::Tensor first = convolution_at(weights, "upsample.0.weight");
    options.scale = weights.find("upsample.2.weight").defined() ? 4 : root_of(first.size(0) / width);
  }
  return options;
}

networks::NetworkOptions recognised_plksr(const Weights& weights) {
  networks::NetworkOptions options;
  options.kind = weights.find("feats.1.norm.weight").defined() ? "realplksr" : "plksr";
  const std::int64_t width = convolution_at(weights, "feats.0.weight").size(0);
  options.width = static_cast<int>(width);
  options.kernel = static_cast<int>(convolution_at(weights, "feats.1.lk.conv.weight").size(2));
  options.blocks = count_blocks(weights, "feats.", 1, ".channel_mixer.0.weight", {2 * width, width, 3, 3});
  const int last = options.blocks + (options.kind == "realplksr" ? 2 : 1);
  options.scale = root_of(convolution_at(weights, fmt::format("feats.{}.weight", last)).size(0) / 3);
  if (weights.find("to_img.offset.weight").defined()) options.upsampler = networks::Upsampler::kDySample;
  return options;
}

}  // namespace

void put_network(const networks::Network& network, const std::string& prefix, Weights& weights) {
  for (const auto& entry : network.named_parameters()) {
    weights.tensors.emplace_back(prefix + entry.key(), entry.value().detach().cpu());
  }
  for (const auto& entry : network.named_buffers()) {
    weights.tensors.emplace_back(prefix + entry.key(), entry.value().detach().cpu());
  }
}

void take_network(const Weights& weights, const std::string& prefix, networks::Network& network) {
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

std::size_t take_matching(const Weights& weights, networks::Network& network) {
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

networks::NetworkOptions recognised(const Weights& weights) {
  networks::NetworkOptions options;
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

std::shared_ptr<networks::Network> load_model(const std::filesystem::path& path, networks::NetworkOptions& options) {
  const Weights weights = read_weights(path);
  try {
    options = recognised(weights);
    std::shared_ptr<networks::Network> network = networks::make_network(options);
    take_network(weights, "", *network);
    network->eval();
    return network;
  } catch (const WeightsError& error) {
    throw WeightsError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace anymps::superres::weights
