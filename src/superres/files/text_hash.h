// A number for a text, the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <string_view>

namespace anymps::superres::files {

// FNV-1a.
constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211U;
  return hash;
}

}  // namespace anymps::superres::files
