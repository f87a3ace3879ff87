// Device: what the machine says of itself, in Metal's words, and the errors that its kernels left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace anymps::gpu {

struct DeviceFacts {
  std::string name;         // MTLDevice.name
  unsigned core_count = 0;  // GPU cores
  unsigned gpu_family = 0;  // Apple's; without a Mac that is named, the newest, for kernels that ask for it
  std::size_t memory = 0;   // of the whole Mac
  std::size_t recommended_working_set = 0;  // MTLDevice.recommendedMaxWorkingSetSize
  std::size_t max_buffer_length = 0;        // MTLDevice.maxBufferLength
  unsigned macos_major = 0;
  unsigned macos_minor = 0;
};

// The simulated Mac: the one that ANYMPS_MAC names, else one of this machine's own memory size; under the macOS
// that ANYMPS_MACOS names. Both are read once. Throws std::invalid_argument where they name nothing that exists.
const DeviceFacts& device_facts();

// The release of PyTorch that ANYMPS_AS_TORCH names, among torch_releases(); nothing where none is asked for. Throws
// std::invalid_argument where there is no such release.
std::optional<std::size_t> simulated_release();

// Why one of these would throw, in one line; nothing when all is well.
std::optional<std::string> device_problem();

// A kernel that finds bad data (an index out of bounds) cannot stop the host: it leaves a message, and the next
// synchronisation finds it. The first message since the last look is kept.
struct DeviceError {
  std::string message;
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::string call_site;  // of the operator in the user's program; empty where it is not known
};
void report_device_error(DeviceError error);
std::optional<DeviceError> take_device_error();

}  // namespace anymps::gpu
