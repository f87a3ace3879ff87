#include "backend/release/played_release.h"

#include <array>
#include <optional>

#include "gpu/device.h"
#include "gpu/history/operator_history.h"
#include "gpu/history/release_number.h"

namespace anymps::backend::release {

std::string_view played_release() {
  static const std::string_view played = [] {
    const std::optional<std::size_t> named = gpu::device_problem() ? std::nullopt : gpu::simulated_release();
    return named ? gpu::history::torch_releases()[*named].version : std::string_view(ANYMPS_TORCH_VERSION);
  }();
  return played;
}

bool plays_since(unsigned major, unsigned minor) {
  return gpu::history::release_number(played_release()) >= std::array{major, minor, 0U};
}

}  // namespace anymps::backend::release
