// Threads beside the program's, for what may be done before somebody waits for it.
//
// When the process ends, what has begun is finished, since nothing can stop it, and the rest is left. A fork waits
// until nothing runs, because the child would inherit the compiler's locks as they are; both go on with what was asked
// for.
#pragma once

#include <functional>
#include <future>

namespace anymps::metal::engine {

enum class Need {
  kSoon,      // will be waited for: on as many threads as kernels run on
  kWhenever,  // when nothing is needed soon; one at a time
};

// Runs `work` some time, after what was asked for before with the same need. What it throws is in the future.
std::shared_future<void> in_background(Need need, std::function<void()> work);

}  // namespace anymps::metal::engine
