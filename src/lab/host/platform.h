// Everything that is asked of the operating system and differs between Linux and macOS. Linux's answers are in
// platform_linux.cpp, macOS's in platform_macos.cpp; which cannot be tried here, so that what it parses is parsed by
// platform_text.cpp, which can. What the system does not tell is empty or absent; nothing here
// throws, save that a user who interrupts is heard (Interrupted).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace anymps::lab::host {

struct PowerState {
  std::optional<bool> on_mains;
  std::optional<bool> low_power_mode;
  std::optional<double> battery_share;
};

struct SwapState {
  std::uint64_t total_bytes = 0;
  std::uint64_t used_bytes = 0;
};

struct ThermalState {
  std::optional<double> celsius;      // of the hottest sensor
  std::optional<double> speed_limit;  // share of the processor's speed that is allowed
  std::string text;                   // in the system's own words
};

struct ProcessUse {
  pid_t pid = 0;
  std::string name;
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
};

class Platform {
 public:
  virtual ~Platform() = default;
  static const Platform& here();

  // On macOS this and the next two start a child (lab/host/child.h), so that they are for the main thread.
  virtual PowerState power() const = 0;
  virtual ThermalState thermal() const = 0;
  virtual std::optional<SwapState> swap() const = 0;
  virtual std::optional<double> load() const = 0;                // over a minute, in processes
  virtual std::optional<std::uint64_t> memory_free() const = 0;  // that can be had without swapping
  virtual std::string container() const = 0;                     // "docker", "podman", ...; empty: none
  // Of the processor, in the words of uname there ("arm64" on a Mac, "aarch64" on Linux), whatever this process is.
  virtual std::string hardware_architecture() const = 0;
  virtual bool translated() const = 0;  // this process is x86 under Rosetta
  // "ext4", "apfs", "nfs": of the file system that holds the path, or would if it were there.
  virtual std::string mount_type(const std::filesystem::path& path) const = 0;
  // The processes of this user that are neither this one nor children of it and take the most memory, largest first.
  virtual std::vector<ProcessUse> busiest_processes(std::size_t count) const = 0;
  // All that descend from `ancestor`, itself left out.
  virtual std::vector<ProcessUse> descendants(pid_t ancestor) const = 0;
};

// "nfs", "smbfs" and the like: a cache there is slow.
bool is_network_mount(const std::string& type);

}  // namespace anymps::lab::host
