#include "superres/training/device_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace anymps::superres::training {
namespace {

constexpr int kMostWorkers = 4;

const char* yes_or_no(bool value) { return value ? "on" : "off"; }

// The user's word where there is one, and a line about it either way.
template <typename Value, typename Text>
Value chosen(const char* what, const std::optional<Value>& wish, Value own, const char* why, const Text& text,
             std::vector<std::string>& reasons) {
  if (!wish || *wish == own) {
    reasons.push_back(fmt::format("{}: {} ({})", what, text(own), why));
    return own;
  }
  reasons.push_back(fmt::format("{}: {} (asked for; the policy would have {}: {})", what, text(*wish), text(own), why));
  return *wish;
}

}  // namespace

DevicePolicy training_policy(const c10::Device& device, networks::Upsampler upsampler, const DeviceWishes& wishes) {
  DevicePolicy policy;
  policy.device = device;
  const bool mps = device.is_mps();
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto number = [](int value) { return std::to_string(value); };
  policy.workers =
      chosen("workers", wishes.workers, mps ? 0 : std::min(kMostWorkers, cores),
             mps ? "LMDB read by workers has crashed trainings on Macs; here the training's own thread reads"
                 : "as many as there are cores, four at most",
             number, policy.reasons);
  policy.pin_memory = chosen("pin_memory", wishes.pin_memory, device.is_cuda(),
                             mps                ? "MPS has no pinned transfers: memory is shared already"
                             : device.is_cuda() ? "copies to the device overlap with its work"
                                                : "nothing is copied to another device",
                             yes_or_no, policy.reasons);
  policy.amp =
      chosen("use_amp", wishes.amp, device.is_cuda(),
             mps ? "float32 unless asked for: torch.autocast works on MPS, and what it gains there was not measured"
             : device.is_cuda() ? "tensor cores, in bfloat16"
                                : "a CPU gains nothing from it",
             yes_or_no, policy.reasons);
  policy.upsampler = upsampler;
  if (mps && upsampler == networks::Upsampler::kDySample) {
    if (wishes.keep_dysample) {
      policy.reasons.emplace_back(
          "upsampler: dysample (asked for; the policy would train pixelshuffle in its place on mps)");
    } else {
      policy.upsampler = networks::Upsampler::kPixelShuffle;
      policy.reasons.emplace_back(
          "upsampler: pixelshuffle in place of dysample (its grid operations are incomplete on MPS; quality is a "
          "little "
          "lower. --keep-dysample trains it all the same)");
    }
  } else {
    policy.reasons.push_back(fmt::format("upsampler: {}", networks::name_of(upsampler)));
  }
  return policy;
}

std::vector<std::string> mps_variables() {
  std::vector<std::string> set;
  for (const char* name : {"PYTORCH_ENABLE_MPS_FALLBACK", "PYTORCH_MPS_HIGH_WATERMARK_RATIO"}) {
    if (const char* value = std::getenv(name)) set.push_back(fmt::format("{}={}", name, value));
  }
  return set;
}

}  // namespace anymps::superres::training
