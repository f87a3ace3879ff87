#include "backend/synchronize.h"

#include <c10/util/Exception.h>

#include "backend/check.h"
#include "backend/check_watch.h"
#include "backend/mps_log.h"
#include "backend/waits.h"
#include "gpu/device.h"

namespace anymps::backend {

void synchronize(const char* what) {
  if (checking()) note_waiting_lines();
  note_wait(what);
  if (logs(LogLevel::kWaits)) log_wait(what);
  if (auto error = gpu::take_device_error()) {
    static thread_local gpu::DeviceError kept;  // SourceLocation points into it
    kept = std::move(*error);
    throw c10::AcceleratorError({kept.function.c_str(), kept.file.c_str(), kept.line}, 1, kept.message);
  }
}

}  // namespace anymps::backend
