#include "gpu/device.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "gpu/history/mac_profile.h"
#include "gpu/history/operator_history.h"
#include "gpu/support/environment.h"
#include "gpu/support/machine_memory.h"

namespace anymps::gpu {
namespace {

using support::environment_variable;

DeviceFacts facts_from_environment() {
  const history::ChosenMac chosen =
      history::choose_mac(environment_variable("ANYMPS_MAC"), environment_variable("ANYMPS_MACOS"));
  DeviceFacts facts;
  if (chosen.mac) {
    facts.name = chosen.mac->device;
    facts.core_count = static_cast<unsigned>(chosen.mac->cores.value);
    facts.gpu_family = chosen.mac->gpu_family();
    facts.memory = static_cast<std::size_t>(chosen.mac->memory.value);
    facts.recommended_working_set = static_cast<std::size_t>(chosen.mac->working_set(chosen.macos).value);
  } else {
    facts.name = "Apple M2";
    facts.core_count = 10;
    facts.gpu_family = 10;
    facts.memory = support::physical_memory();
    facts.recommended_working_set = history::working_set_for(facts.memory, chosen.macos);
  }
  facts.name += " (anymps)";
  facts.max_buffer_length = history::max_buffer_for(facts.recommended_working_set);
  facts.macos_major = chosen.macos.major;
  facts.macos_minor = chosen.macos.minor;
  return facts;
}

std::mutex error_mutex;
std::optional<DeviceError> first_error;
// Synchronisation is frequent and errors are rare: the common case is one load.
std::atomic<bool> has_error{false};

}  // namespace

const DeviceFacts& device_facts() {
  static const DeviceFacts facts = facts_from_environment();
  return facts;
}

std::optional<std::size_t> simulated_release() {
  const char* asked = std::getenv("ANYMPS_AS_TORCH");
  if (asked == nullptr || *asked == '\0') return std::nullopt;
  if (const auto release = history::torch_release(asked)) return release;
  std::string text =
      std::string("ANYMPS_AS_TORCH names ") + asked + ", which is no release of PyTorch that is known here:";
  for (const history::TorchRelease& release : history::torch_releases()) text += " " + std::string(release.version);
  throw std::invalid_argument(text);
}

std::optional<std::string> device_problem() {
  try {
    device_facts();
    simulated_release();
    return std::nullopt;
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

void report_device_error(DeviceError error) {
  std::lock_guard lock(error_mutex);
  if (!first_error) first_error = std::move(error);
  has_error.store(true, std::memory_order_release);
}

std::optional<DeviceError> take_device_error() {
  if (!has_error.load(std::memory_order_acquire)) return std::nullopt;
  std::lock_guard lock(error_mutex);
  has_error.store(false, std::memory_order_release);
  return std::exchange(first_error, std::nullopt);
}

}  // namespace anymps::gpu
