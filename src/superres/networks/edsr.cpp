#include "superres/networks/edsr.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/pixelshuffle.h>

#include "superres/networks/interpolating.h"
#include "superres/networks/layers.h"

namespace anymps::superres::networks {
namespace {

using torch::nn::Conv2d;

constexpr std::int64_t kGroups = 4;
// In which BasicSR's weights expect colours to be. DySample, which it has not, takes features for distances.
double range_of(Upsampler upsampler) { return upsampler == Upsampler::kDySample ? 1 : 255; }
// So that a deep network begins near the identity.
constexpr double kInitialShare = 0.1;

class ResidualBlockImpl : public torch::nn::Module {
 public:
  explicit ResidualBlockImpl(std::int64_t width)
      : conv1_(register_module("conv1", convolution(width, width))),
        conv2_(register_module("conv2", convolution(width, width))) {
    for (Conv2d& conv : {std::ref(conv1_), std::ref(conv2_)}) {
      torch::nn::init::kaiming_normal_(conv->weight);
      const at::NoGradGuard constant;
      conv->weight.mul_(kInitialShare);
      conv->bias.zero_();
    }
  }

  at::Tensor forward(const at::Tensor& x) { return x + conv2_->forward(at::relu(conv1_->forward(x))); }

 private:
  Conv2d conv1_;
  Conv2d conv2_;
};
TORCH_MODULE(ResidualBlock);

class Edsr : public Network {
 public:
  explicit Edsr(const NetworkOptions& options)
      : checkpointing_(options.checkpointing),
        range_(range_of(options.upsampler)),
        blocks_(options.blocks),
        conv_first_(register_module("conv_first", convolution(kColours, options.width))),
        body_(register_module("body", torch::nn::Sequential())),
        conv_after_body_(register_module("conv_after_body", convolution(options.width, options.width))),
        // The mean of DIV2K, as in BasicSR.
        mean_(at::tensor({0.4488, 0.4371, 0.4040}, at::kFloat).view({1, kColours, 1, 1})) {
    for (int i = 0; i < options.blocks; ++i) body_->push_back(ResidualBlock(options.width));
    if (options.upsampler == Upsampler::kDySample) {
      dysample_ = register_module("upsample", DySample(options.width, options.width, options.scale, kGroups));
      pass_colours(dysample_->last());
    } else {
      upsample_ = register_module("upsample", torch::nn::Sequential());
      // Four times as large is twice as large, twice.
      for (const std::int64_t factor :
           options.scale == 4 ? std::vector<std::int64_t>{2, 2} : std::vector<std::int64_t>{options.scale}) {
        Conv2d widened = convolution(options.width, options.width * factor * factor);
        interpolate_colours(widened, factor);
        upsample_->push_back(widened);
        upsample_->push_back(torch::nn::PixelShuffle(factor));
      }
    }
    conv_last_ = register_module("conv_last", convolution(options.width, kColours));
    pass_colours(conv_first_);
    pass_colours(conv_last_);
    const at::NoGradGuard constant;
    conv_after_body_->weight.mul_(kInitialShare);
  }

  at::Tensor forward(const at::Tensor& low) override {
    if (mean_.device() != low.device()) mean_ = mean_.to(low.device());
    const at::Tensor first = conv_first_->forward((low - mean_) * range_);
    at::Tensor x = first;
    for (const auto& module : *body_) {
      x = through(module.ptr<ResidualBlockImpl>(), x, checkpointing_);
    }
    x = conv_after_body_->forward(x) + first;
    x = dysample_ ? dysample_->forward(x) : upsample_->forward(x);
    return conv_last_->forward(x) / range_ + mean_;
  }

  // One pixel for each convolution of 3 x 3 in a row, and what DySample may look aside.
  int reach() const override { return 2 * blocks_ + 6; }

 private:
  bool checkpointing_;
  double range_;
  int blocks_;
  Conv2d conv_first_;
  torch::nn::Sequential body_;
  Conv2d conv_after_body_;
  torch::nn::Sequential upsample_{nullptr};
  DySample dysample_{nullptr};
  Conv2d conv_last_{nullptr};
  at::Tensor mean_;
};

}  // namespace

std::shared_ptr<Network> make_edsr(const NetworkOptions& options) { return std::make_shared<Edsr>(options); }

}  // namespace anymps::superres::networks
