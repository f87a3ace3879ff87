#include "backend/observe/synchronize.h"

#include <utility>

#include "backend/observe/check.h"
#include "backend/observe/check_races.h"
#include "backend/observe/check_watch.h"
#include "backend/runtime/device_errors.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/mps_log.h"
#include "backend/runtime/waits.h"
#include "gpu/device.h"

namespace anymps::backend::observe {

namespace {

void note_synchronisation(const char* what) {
  if (checking()) {
    note_waiting_lines();
    end_host_copies();
  }
  runtime::note_wait(what);
  if (runtime::logs(runtime::LogLevel::kWaits)) runtime::log_wait(what);
  if (auto error = gpu::take_device_error()) runtime::throw_error(std::move(*error));
}

}  // namespace

void synchronize(const char* what) {
  runtime::DeviceQueue::drain();
  note_synchronisation(what);
}

void synchronize(const char* what, gpu::StreamId stream) {
  runtime::DeviceQueue::drain(stream);
  note_synchronisation(what);
}

}  // namespace anymps::backend::observe
