// The caches that a training reads and writes, and on what kind of disk they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace anymps::lab::host {

struct CacheMount {
  std::string name;  // "torch", "inductor", "hugging face", "hugging face datasets", "anymps"
  std::filesystem::path path;
  std::string type;  // of the mount; empty: the system does not tell
  bool network = false;
  std::optional<std::uint64_t> free_bytes;
};

// Where the libraries look, by their own environment variables, whether the folder is there yet or not.
std::vector<CacheMount> cache_mounts();

}  // namespace anymps::lab::host
