#include "superres/networks/plksr.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/normalization.h>

#include "superres/networks/interpolating.h"
#include "superres/networks/layers.h"

namespace anymps::superres::networks {
namespace {

using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Sequential;

constexpr std::int64_t kNormGroups = 4;
constexpr std::int64_t kPart = 4;  // one of so many channels goes through the large kernel

class LargeKernelImpl : public torch::nn::Module {
 public:
  LargeKernelImpl(std::int64_t part, std::int64_t kernel)
      : part_(part), conv_(register_module("conv", convolution(part, part, kernel))) {
    torch::nn::init::normal_(conv_->weight, 0, 0.02);
  }

  at::Tensor forward(const at::Tensor& x) {
    return at::cat({conv_->forward(x.narrow(1, 0, part_)), x.narrow(1, part_, x.size(1) - part_)}, 1);
  }

 private:
  std::int64_t part_;
  Conv2d conv_;
};
TORCH_MODULE(LargeKernel);

class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(std::int64_t width)
      : f_(register_module("f", Sequential(convolution(width, width, 3), torch::nn::Sigmoid()))) {}

  at::Tensor forward(const at::Tensor& x) { return x * f_->forward(x); }

 private:
  Sequential f_;
};
TORCH_MODULE(Attention);

class BlockImpl : public torch::nn::Module {
 public:
  BlockImpl(std::int64_t width, std::int64_t kernel, bool normalised)
      : channel_mixer_(register_module("channel_mixer", Sequential(convolution(width, 2 * width, 3), torch::nn::Mish(),
                                                                   convolution(2 * width, width, 3)))),
        lk_(register_module("lk", LargeKernel(width / kPart, kernel))),
        attn_(register_module("attn", Attention(width))),
        refine_(register_module("refine", Conv2d(Conv2dOptions(width, width, 1)))) {
    torch::nn::init::normal_(refine_->weight, 0, 0.02);
    if (normalised) norm_ = register_module("norm", torch::nn::GroupNorm(kNormGroups, width));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = refine_->forward(attn_->forward(lk_->forward(channel_mixer_->forward(x))));
    return x + (norm_ ? norm_->forward(y) : y);
  }

 private:
  Sequential channel_mixer_;
  LargeKernel lk_;
  Attention attn_;
  Conv2d refine_;
  torch::nn::GroupNorm norm_{nullptr};
};
TORCH_MODULE(Block);

class Plksr : public Network {
 public:
  explicit Plksr(const NetworkOptions& options) : options_(options), feats_(register_module("feats", Sequential())) {
    const bool normalised = options.kind == "realplksr";
    const std::int64_t squared = std::int64_t{options.scale} * options.scale;
    Conv2d first = convolution(kColours, options.width, 3);
    Conv2d last = convolution(options.width, kColours * squared, 3);
    torch::nn::init::normal_(first->weight, 0, 0.02);
    torch::nn::init::normal_(last->weight, 0, 0.02);
    pass_colours(first);
    if (options.upsampler == Upsampler::kPixelShuffle) interpolate_colours(last, options.scale, true);
    feats_->push_back(first);
    for (int i = 0; i < options.blocks; ++i) feats_->push_back(Block(options.width, options.kernel, normalised));
    // Never drops anything here; the last convolution's number counts it.
    if (normalised) feats_->push_back(torch::nn::Dropout2d(0.0));
    feats_->push_back(last);
    if (options.upsampler == Upsampler::kDySample) {
      // The groups must divide the channels, of which an odd scale has an odd number.
      const std::int64_t groups = options.scale % 2 != 0 ? kColours : 4;
      dysample_ = register_module("to_img", DySample(kColours * squared, kColours, options.scale, groups));
      average_colours(dysample_->last());
    }
  }

  at::Tensor forward(const at::Tensor& low) override {
    at::Tensor x = low;
    for (torch::nn::AnyModule& module : *feats_) {
      const auto block = std::dynamic_pointer_cast<BlockImpl>(module.ptr());
      x = block != nullptr ? through(block, x, options_.checkpointing) : module.any_forward(x).get<at::Tensor>();
    }
    x = x + low.repeat_interleave(std::int64_t{options_.scale} * options_.scale, 1);
    return dysample_ ? dysample_->forward(x) : at::pixel_shuffle(x, options_.scale);
  }

  // RealPLKSR's normalisation looks at the whole picture: beyond this a pixel changes others only through that.
  int reach() const override { return options_.blocks * (3 + options_.kernel / 2) + 4; }

 private:
  NetworkOptions options_;
  Sequential feats_;
  DySample dysample_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_plksr(const NetworkOptions& options) { return std::make_shared<Plksr>(options); }

}  // namespace anymps::superres::networks
