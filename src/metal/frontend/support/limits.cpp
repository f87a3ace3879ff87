#include "metal/frontend/support/limits.h"

#include <ctime>

namespace anymps::metal::frontend::support {

double seconds_used() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace anymps::metal::frontend::support
