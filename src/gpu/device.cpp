#include "gpu/device.h"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>

namespace anymps::gpu {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

DeviceFacts facts_of_this_machine() {
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  DeviceFacts facts;
  facts.name = "Apple M2 (anymps)";
  facts.core_count = 10;
  // Reported by users of real Macs: two thirds of memory up to 32 GB, three quarters above; the largest buffer is
  // about three quarters of that.
  facts.recommended_working_set = memory <= 32 * kGiB ? memory / 3 * 2 : memory / 4 * 3;
  facts.max_buffer_length = facts.recommended_working_set / 4 * 3;
  facts.macos_major = 26;
  facts.macos_minor = 0;
  return facts;
}

std::mutex error_mutex;
std::optional<DeviceError> first_error;
// Synchronisation is frequent and errors are rare: the common case is one load.
std::atomic<bool> has_error{false};

}  // namespace

const DeviceFacts& device_facts() {
  static const DeviceFacts facts = facts_of_this_machine();
  return facts;
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
