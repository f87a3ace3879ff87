// Ctrl-C as a wish to stop, which long work looks at between two of its steps.
#pragma once

#include <atomic>

namespace anymps::cli::sr {

// From now on SIGINT and SIGTERM set it; a second one ends the program at once.
std::atomic<bool>& stop_on_interrupt();

}  // namespace anymps::cli::sr
