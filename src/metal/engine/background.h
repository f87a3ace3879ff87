// One thread beside the program's, for work that nobody waits for.
#pragma once

#include <functional>
#include <future>

namespace anymps::metal::engine {

// Runs `work` some time, after what was asked for before. What it throws is in the future. In a process that was forked
// since the thread began there is none: the work is done at once.
std::shared_future<void> in_background(std::function<void()> work);

}  // namespace anymps::metal::engine
