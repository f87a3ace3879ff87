#include "backend/observe/synchronize.h"

#include <c10/util/Exception.h>

#include "backend/observe/check.h"
#include "backend/observe/check_watch.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/mps_log.h"
#include "backend/runtime/waits.h"
#include "gpu/device.h"

namespace anymps::backend::observe {

void synchronize(const char* what) {
  runtime::DeviceQueue::drain();
  if (checking()) note_waiting_lines();
  runtime::note_wait(what);
  if (runtime::logs(runtime::LogLevel::kWaits)) runtime::log_wait(what);
  if (auto error = gpu::take_device_error()) {
    static thread_local gpu::DeviceError kept;  // SourceLocation points into it
    kept = std::move(*error);
    throw c10::AcceleratorError({kept.function.c_str(), kept.file.c_str(), kept.line}, 1, kept.message);
  }
}

}  // namespace anymps::backend::observe
