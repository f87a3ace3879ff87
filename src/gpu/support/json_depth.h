// How deep a JSON text is nested, before anything is made of it: readers of values, and LLVM's parser, call themselves
// for each level, and a text of a few kilobytes would use up the stack.
#pragma once

#include <cstddef>
#include <string_view>

namespace anymps::gpu::support {

// Deeper than anything that anymps or the tools around it write.
inline constexpr std::size_t kMostJsonDepth = 200;

inline bool is_nested_too_deep(std::string_view json) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace anymps::gpu::support
