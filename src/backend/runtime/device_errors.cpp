#include "backend/runtime/device_errors.h"

#include <c10/util/Exception.h>

#include <string_view>
#include <utility>

#include "backend/runtime/call_site.h"
#include "gpu/support/environment.h"

namespace anymps::backend::runtime {

bool is_synchronous() {
  static const bool asked = [] {
    const std::string_view value = gpu::support::environment_variable("ANYMPS_SYNC");
    TORCH_CHECK(value.empty() || value == "0" || value == "1", "ANYMPS_SYNC is ", value, ": it is 0 or 1");
    return value == "1";
  }();
  return asked;
}

void report_error(gpu::DeviceError error) {
  if (is_synchronous()) throw_error(std::move(error));
  error.call_site = call_site();
  gpu::report_device_error(std::move(error));
}

void throw_error(gpu::DeviceError error) {
  static thread_local gpu::DeviceError kept;  // SourceLocation points into it
  kept = std::move(error);
  std::string text = kept.message;
  if (!kept.call_site.empty()) {
    text += "\nThe operator was called at " + kept.call_site + "; with ANYMPS_SYNC=1 this is raised there.";
  }
  throw c10::AcceleratorError({kept.function.c_str(), kept.file.c_str(), kept.line}, 1, std::move(text));
}

}  // namespace anymps::backend::runtime
