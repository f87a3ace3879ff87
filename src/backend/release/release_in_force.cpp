#include "backend/release/release_in_force.h"

#include <array>

#include "gpu/device.h"
#include "gpu/history/operator_history.h"
#include "gpu/history/release_number.h"

namespace anymps::backend::release {

std::optional<std::size_t> simulated_release() {
  static const std::optional<std::size_t> named = gpu::device_problem() ? std::nullopt : gpu::simulated_release();
  return named;
}

std::string_view release_in_force() {
  const auto named = simulated_release();
  return named ? gpu::history::torch_releases()[*named].version : std::string_view(ANYMPS_TORCH_VERSION);
}

bool in_force_since(unsigned major, unsigned minor) {
  return gpu::history::release_number(release_in_force()) >= std::array{major, minor, 0U};
}

}  // namespace anymps::backend::release
