// MacProfile: what is known of each Apple-silicon Mac, from data/macs, and which one the user chose to be simulated.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::gpu::history {

struct MacosVersion {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const MacosVersion&) const = default;

  // "14", "14.5" or "14.5.1"; nothing for anything else.
  static std::optional<MacosVersion> parse(std::string_view text);
  std::string text() const;
};

// Simulated unless the user names another.
inline constexpr MacosVersion kDefaultMacos{26, 0};
// Below this one, PyTorch 2.9 to 2.14 finds no device (MPSDevice.mm asks MPSGraph for a method of macOS 14).
inline constexpr MacosVersion kOldestMacos{14, 0};

struct Figure {
  double value = 0;
  const char* source = "";  // a key of mac_sources()

  // By a rule, because nobody has published it.
  bool computed() const { return std::string_view(source).starts_with("computed:"); }
};

struct MacProfile {
  const char* name;     // "m2-8gb"
  const char* device;   // "Apple M2", which MTLDevice.name says there
  Figure memory;        // bytes
  Figure cores;         // of the GPU: the largest version sold with that memory
  Figure fewest_cores;  // the smallest version that a source names
  Figure bandwidth;     // bytes a second
  Figure peak_flops;    // float32 operations a second
  Figure first_macos;   // major version; so is the next
  Figure newest_macos;  // that a source says it runs
  Figure working_set_before_26;
  Figure working_set_from_26;

  // Of Apple's GPUs, as its table of Metal's features counts them: M1 is of family 7, M2 8, M3 and M4 9, M5 10.
  unsigned gpu_family() const;
  // MTLDevice.recommendedMaxWorkingSetSize in bytes, which depends on the system.
  const Figure& working_set(MacosVersion macos) const {
    return macos < MacosVersion{26, 0} ? working_set_before_26 : working_set_from_26;
  }
};

struct MacSource {
  const char* key;
  const char* kind;  // press, table, user, measurement, or rule for a computed figure
  const char* says;
  const char* where;
};

std::span<const MacProfile> all_macs();
std::span<const MacSource> mac_sources();

std::optional<MacProfile> find_mac(std::string_view name);

// The names with the fewest edits from a mistyped one, nearest first.
std::vector<std::string> nearest_macs(std::string_view name, std::size_t count = 3);

// For a machine that no table lists: the share of memory that the next smaller listed size has.
std::size_t working_set_for(std::size_t memory, MacosVersion macos);
// MTLDevice.maxBufferLength.
std::size_t max_buffer_for(std::size_t working_set);

struct ChosenMac {
  std::optional<MacProfile> mac;  // nothing: this machine simulates a Mac of its own size
  MacosVersion macos = kDefaultMacos;
};

// What ANYMPS_MAC and ANYMPS_MACOS (or --mac and --macos) mean; empty texts choose nothing. Throws
// std::invalid_argument with one line for a name that is not listed, an Intel Mac, or a version that is none.
ChosenMac choose_mac(std::string_view mac, std::string_view macos);

}  // namespace anymps::gpu::history
