#include "lab/host/platform_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string>

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

// Takes the first line off.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Takes the first word off.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, std::min(text.find_first_of(" \t\n"), text.size()));
  text.remove_prefix(word.size());
  return word;
}

std::optional<double> number_in_text(std::string_view text) {
  // Not std::from_chars, which macOS has for whole numbers only.
  const std::string copy(text.substr(0, 64));
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return end != copy.c_str() ? std::optional(value) : std::nullopt;
}

// What stands behind the first `key` of the text, up to the end of its line.
std::optional<std::string_view> behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return take_line(text);
}

// "1234.50M" after "used = ".
std::optional<std::uint64_t> sysctl_bytes(std::string_view text, std::string_view key) {
  const auto rest = behind(text, key);
  if (!rest) return std::nullopt;
  std::string_view words = *rest;
  take_word(words);  // the equals sign
  const std::string_view word = take_word(words);
  const auto number = number_in_text(word);
  if (!number) return std::nullopt;
  double unit = 1;
  if (word.ends_with('K')) unit = 1024;
  if (word.ends_with('M')) unit = 1024.0 * 1024;
  if (word.ends_with('G')) unit = 1024.0 * 1024 * 1024;
  return static_cast<std::uint64_t>(*number * unit);
}

std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view key) {
  const auto rest = behind(text, key);
  if (!rest) return std::nullopt;
  std::string_view words = *rest;
  const auto number = number_in_text(take_word(words));
  return number ? std::optional(static_cast<std::uint64_t>(*number) * 1024) : std::nullopt;
}

// The kernel writes spaces, tabs, line breaks and backslashes in names as three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

}  // namespace

PowerState power_in_pmset(std::string_view battery, std::string_view settings) {
  PowerState power;
  if (const auto source = behind(battery, "Now drawing from '")) power.on_mains = !source->starts_with("Battery");
  // " -InternalBattery-0 (id=1234)	87%; discharging; 3:12 remaining present: true"
  if (const auto line = behind(battery, "InternalBattery")) {
    const std::size_t percent = line->find('%');
    const std::size_t begin =
        percent == std::string_view::npos ? percent : line->find_last_not_of("0123456789", percent - 1);
    if (begin != std::string_view::npos) {
      if (const auto number = number_in_text(line->substr(begin + 1))) power.battery_share = *number / 100;
    }
  }
  // " lowpowermode         1"; Macs that have other modes, too, call it powermode, of which 1 is the low one.
  for (const std::string_view key : {"lowpowermode", "powermode"}) {
    if (power.low_power_mode) break;
    for (std::string_view rest = settings; !rest.empty();) {
      std::string_view line = take_line(rest);
      if (take_word(line) != key) continue;
      if (const auto value = number_in_text(take_word(line))) power.low_power_mode = *value == 1;
    }
  }
  return power;
}

ThermalState thermal_in_pmset(std::string_view text) {
  ThermalState state;
  // "	CPU_Speed_Limit 	= 80", on Macs that lower it; others write notes alone.
  if (const auto rest = behind(text, "CPU_Speed_Limit")) {
    const std::size_t digits = rest->find_first_of("0123456789");
    const auto number = digits != std::string_view::npos ? number_in_text(rest->substr(digits)) : std::nullopt;
    if (number) state.speed_limit = *number / 100;
  }
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("Note: ")) line.remove_prefix(6);
    if (line.empty() || line.starts_with("CPU_") || line.find("CPU Power notify") != std::string_view::npos) continue;
    state.text += (state.text.empty() ? "" : "; ") + std::string(line);
  }
  return state;
}

std::optional<SwapState> swap_in_sysctl(std::string_view text) {
  const auto total = sysctl_bytes(text, "total");
  const auto used = sysctl_bytes(text, "used");
  if (!total || !used) return std::nullopt;
  return SwapState{*total, *used};
}

std::optional<SwapState> swap_in_meminfo(std::string_view text) {
  const auto total = meminfo_bytes(text, "SwapTotal:");
  const auto free = meminfo_bytes(text, "SwapFree:");
  if (!total || !free) return std::nullopt;
  return SwapState{*total, *total - std::min(*total, *free)};
}

std::optional<LinuxProcess> process_in_stat(std::string_view text, double ticks_a_second, std::uint64_t page_bytes) {
  // The second field is a name in parentheses, which may contain anything.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  LinuxProcess process;
  process.use.pid = static_cast<pid_t>(number_in_text(text).value_or(0));
  process.use.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 2);
  std::vector<std::string_view> fields;  // from the third on
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) fields.push_back(word);
  const auto field = [&fields](std::size_t number) {
    return number - 3 < fields.size() ? number_in_text(fields[number - 3]).value_or(0) : 0;
  };
  process.parent = static_cast<pid_t>(field(4));
  process.use.cpu_seconds = (field(14) + field(15)) / ticks_a_second;
  process.use.resident_bytes = static_cast<std::uint64_t>(std::max(0.0, field(24))) * page_bytes;
  return process;
}

std::string mount_type_in(std::string_view mountinfo, const fs::path& path) {
  std::string type;
  std::size_t longest = 0;
  while (!mountinfo.empty()) {
    const std::string_view line = take_line(mountinfo);
    std::string_view fields = line;
    std::string_view point;
    for (int i = 0; i < 5; ++i) point = take_word(fields);
    const fs::path folder = unescaped(point);
    const auto rest = behind(fields, " - ");
    // Of two mounts on one folder the later one is seen.
    if (!rest || !is_within(path, folder) || folder.native().size() < longest) continue;
    std::string_view words = *rest;
    longest = folder.native().size();
    type = take_word(words);
  }
  return type;
}

std::vector<pid_t> below(const std::vector<std::pair<pid_t, pid_t>>& processes, pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& [process, parent] : processes) {
    if (process != parent) children.emplace(parent, process);
  }
  std::vector<pid_t> found = {ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

bool is_network_mount(const std::string& type) {
  // Also what a virtual machine is given of its host, and object stores behind FUSE.
  constexpr std::array kTypes = {"nfs",       "nfs4",         "smbfs",       "cifs",          "smb3",      "afpfs",
                                 "webdav",    "9p",           "virtiofs",    "ceph",          "glusterfs", "lustre",
                                 "beegfs",    "gpfs",         "afs",         "sshfs",         "vboxsf",    "fuse.sshfs",
                                 "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.grpcfuse", "macfuse",   "osxfuse"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

}  // namespace anymps::lab::host
