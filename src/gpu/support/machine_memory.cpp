#include "gpu/support/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace anymps::gpu::support {
namespace {

namespace fs = std::filesystem;

// A twentieth, and no more than this: page tables, the interpreter and the neighbours need some.
constexpr std::size_t kLargestMargin = std::size_t{512} << 20;

// A file that holds one number; "max", which stands for no limit, is none.
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// The number after `key` in a file of "key value" lines.
std::optional<std::uint64_t> field_in(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

struct Names {
  const char* limit;
  const char* usage;
  const char* cache;  // in memory.stat: pages of files that the kernel drops when asked
};
constexpr Names kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};

std::optional<std::size_t> headroom_of(const fs::path& group, const Names& names) {
  const auto limit = number_in(group / names.limit);
  const auto usage = number_in(group / names.usage);
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t used = *usage - std::min(*usage, field_in(group / "memory.stat", names.cache).value_or(0));
  return *limit > used ? *limit - used : 0;
}

std::optional<std::size_t> limit_of(const fs::path& group, const Names& names) {
  return number_in(group / names.limit);
}

using OfGroup = std::optional<std::size_t> (*)(const fs::path& group, const Names& names);

// The group of this process and every group around it: each may have a limit.
std::optional<std::size_t> least_up_from(const fs::path& mount, const fs::path& group, const Names& names,
                                         OfGroup figure) {
  std::optional<std::size_t> least;
  for (fs::path path = group;; path = path.parent_path()) {
    if (const auto found = figure(mount / path.relative_path(), names)) {
      least = std::min(least.value_or(*found), *found);
    }
    if (path == path.parent_path()) return least;
  }
}

std::optional<std::size_t> least_of_groups(const fs::path& root, OfGroup figure) {
  std::ifstream file(root / "proc/self/cgroup");
  std::optional<std::size_t> least;
  std::string line;
  while (std::getline(file, line)) {
    // "0::/path" is version 2; "N:controllers:/path" version 1.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    std::optional<std::size_t> found;
    if (controllers.empty()) found = least_up_from(root / "sys/fs/cgroup", group, kVersion2, figure);
    if (controllers == "memory") found = least_up_from(root / "sys/fs/cgroup/memory", group, kVersion1, figure);
    if (found) least = std::min(least.value_or(*found), *found);
  }
  return least;
}

}  // namespace

std::size_t physical_memory() {
  constexpr std::size_t kGuess = std::size_t{8} << 30;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : kGuess;
}

std::size_t available_memory(const fs::path& root) {
  std::size_t available = physical_memory();
  if (const auto free_kib = field_in(root / "proc/meminfo", "MemAvailable:")) {
    available = static_cast<std::size_t>(*free_kib) * 1024;
  }
  if (const auto headroom = least_of_groups(root, headroom_of)) available = std::min(available, *headroom);
  return available - std::min(available / 20, kLargestMargin);
}

std::size_t available_memory() { return available_memory("/"); }

std::optional<std::size_t> memory_limit(const fs::path& root) {
  const auto limit = least_of_groups(root, limit_of);
  return limit && *limit < physical_memory() ? limit : std::nullopt;
}

std::optional<std::size_t> memory_limit() { return memory_limit("/"); }

}  // namespace anymps::gpu::support
