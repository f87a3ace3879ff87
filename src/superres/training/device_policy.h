// What training does differently from device to device, in one place, each with its reason.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <vector>

#include "superres/networks/upsampler.h"

namespace anymps::superres::training {

// What the user said; nothing: the policy decides.
struct DeviceWishes {
  std::optional<int> workers;
  std::optional<bool> pin_memory;
  std::optional<bool> amp;
  bool keep_dysample = false;  // train DySample on mps all the same
};

struct DevicePolicy {
  c10::Device device = c10::kCPU;
  int workers = 0;
  bool pin_memory = false;
  bool amp = false;
  networks::Upsampler upsampler = networks::Upsampler::kPixelShuffle;
  std::vector<std::string> reasons;  // a line for each choice, for the log
};

// For training a network that was asked to have `upsampler`.
DevicePolicy training_policy(const c10::Device& device, networks::Upsampler upsampler, const DeviceWishes& wishes);

// PYTORCH_ENABLE_MPS_FALLBACK and PYTORCH_MPS_HIGH_WATERMARK_RATIO as they are set, "NAME=VALUE"; those that are.
std::vector<std::string> mps_variables();

}  // namespace anymps::superres::training
