#include "gpu/history/mac_profile.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <stdexcept>

#include "gpu/support/edit_distance.h"

namespace anymps::gpu::history {
namespace {

// Of memory, before macOS 26 and from it on.
struct SizeShare {
  std::uint64_t memory;
  std::uint64_t before_numerator, before_denominator;
  std::uint64_t from_numerator, from_denominator;
};

#include "mac_table.inc"

constexpr std::size_t kMacPage = std::size_t{16} << 10;  // of macOS on Apple silicon

// Names by which people call the Macs that had AMD GPUs; none of them is a chip of Apple's.
bool is_intel(std::string_view name) {
  constexpr std::string_view kWords[] = {"intel", "amd", "radeon", "vega", "xeon", "imacpro", "macpro-2019"};
  return std::ranges::any_of(kWords,
                             [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::optional<MacosVersion> MacosVersion::parse(std::string_view text) {
  unsigned parts[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (unsigned& part : parts) {
    const auto [after, error] = std::from_chars(at, end, part);
    if (error != std::errc()) return std::nullopt;
    at = after;
    if (at == end) return MacosVersion{parts[0], parts[1]};
    if (*at++ != '.') return std::nullopt;
  }
  return std::nullopt;
}

std::string MacosVersion::text() const { return std::to_string(major) + "." + std::to_string(minor); }

unsigned MacProfile::gpu_family() const {
  // "Apple M3 Pro": the chips' letters say how much of it there is, the number says which it is.
  switch (std::string_view(device).substr(std::string_view("Apple M").size()).front()) {
    case '1':
      return 7;
    case '2':
      return 8;
    case '3':
    case '4':
      return 9;
    default:
      return 10;
  }
}

std::span<const MacProfile> all_macs() { return kMacs; }
std::span<const MacSource> mac_sources() { return kSources; }

std::optional<MacProfile> find_mac(std::string_view name) {
  const auto* found = std::ranges::find(kMacs, lower(name), &MacProfile::name);
  return found != std::end(kMacs) ? std::optional(*found) : std::nullopt;
}

std::vector<std::string> nearest_macs(std::string_view name, std::size_t count) {
  const std::string given = lower(name);
  std::vector<std::string> names;
  for (const MacProfile& mac : kMacs) names.emplace_back(mac.name);
  std::ranges::stable_sort(names, {}, [&given](const std::string& one) { return support::edits_between(given, one); });
  names.resize(std::min(count, names.size()));
  return names;
}

std::size_t working_set_for(std::size_t memory, MacosVersion macos) {
  const SizeShare* share = &kSizeShares[0];
  for (const SizeShare& row : kSizeShares) {
    if (row.memory <= memory) share = &row;
  }
  const bool from_26 = macos >= MacosVersion{26, 0};
  const std::size_t numerator = from_26 ? share->from_numerator : share->before_numerator;
  const std::size_t denominator = from_26 ? share->from_denominator : share->before_denominator;
  const std::size_t pages = kMacPage * denominator;
  return (memory * numerator + pages - 1) / pages * kMacPage;
}

std::size_t max_buffer_for(std::size_t working_set) { return working_set / 4 * 3 / kMacPage * kMacPage; }

ChosenMac choose_mac(std::string_view mac, std::string_view macos) {
  ChosenMac chosen;
  if (!macos.empty()) {
    const auto version = MacosVersion::parse(macos);
    if (!version) throw std::invalid_argument("`" + std::string(macos) + "` is no version of macOS, such as 14.5");
    chosen.macos = *version;
  }
  if (mac.empty()) return chosen;
  chosen.mac = find_mac(mac);
  if (chosen.mac) return chosen;
  if (is_intel(lower(mac))) {
    throw std::invalid_argument("`" + std::string(mac) +
                                "` is a Mac with an Intel processor, for which PyTorch 2.13 is not built; built from "
                                "source it says there: MPS backend is only supported on devices with unified memory");
  }
  std::string nearest;
  for (const std::string& name : nearest_macs(mac)) nearest += (nearest.empty() ? "" : ", ") + name;
  throw std::invalid_argument("there is no Mac named `" + std::string(mac) + "`; the nearest are " + nearest +
                              " (anymps macs lists all)");
}

}  // namespace anymps::gpu::history
