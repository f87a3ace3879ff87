// The process's environment.
#pragma once

#include <cstdlib>
#include <string_view>

namespace anymps::gpu::support {

// Empty where it is not set.
inline std::string_view environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace anymps::gpu::support
