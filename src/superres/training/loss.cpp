#include "superres/training/loss.h"

#include <ATen/ATen.h>

#include "superres/device/autocast.h"

namespace anymps::superres::training {
namespace {

at::Tensor frequency_loss(const at::Tensor& made, const at::Tensor& wanted) {
  // Orthonormal, so that its size does not depend on the crop's.
  const at::Tensor difference = at::fft_rfft2(made - wanted, at::OptionalIntArrayRef(), {-2, -1}, "ortho");
  return at::view_as_real(difference).abs().mean();
}

at::Tensor made_by(networks::Network& network, const at::Tensor& low, const DevicePolicy& policy) {
  const device::Autocast mixed(policy.device.type(), policy.amp);
  return network.forward(low);
}

}  // namespace

at::Tensor training_loss(networks::Network& network, const at::Tensor& low, const at::Tensor& high, double frequency,
                         const DevicePolicy& policy) {
  const at::Tensor made = made_by(network, low, policy).to(at::kFloat);
  const at::Tensor loss = at::l1_loss(made, high);
  return frequency > 0 ? loss + frequency * frequency_loss(made, high) : loss;
}

}  // namespace anymps::superres::training
