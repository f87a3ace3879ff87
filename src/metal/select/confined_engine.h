// The engine in a process that computes and does nothing else (gpu/support/confine.h).
#pragma once

namespace anymps::metal::select {

// Reads what the engine asks of the machine, does without the cache on the disk from here on, and confines this
// process. To be called before anything has been compiled, and while there is but one thread. Throws std::runtime_error
// where the kernel cannot do it.
void confine_engine();

}  // namespace anymps::metal::select
