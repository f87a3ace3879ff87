#include "cli/sr/interrupt.h"

#include <csignal>

namespace anymps::cli::sr {
namespace {

std::atomic<bool> stopped{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void wish_to_stop(int /*signal*/) {
  stopped = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

std::atomic<bool>& stop_on_interrupt() {
  std::signal(SIGINT, wish_to_stop);
  std::signal(SIGTERM, wish_to_stop);
  return stopped;
}

}  // namespace anymps::cli::sr
