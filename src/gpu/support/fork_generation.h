// How often this process was forked into being. What was made in another generation belongs to the parent: its locks
// may be held and its threads are gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace anymps::gpu::support {

std::uint32_t fork_generation() noexcept;

// The object in `slot`, made anew by `make` where there is none of this generation. An object of the parent is left as
// it is, since nothing of it can be relied on, its destructor included. `Made` has a member `generation`.
template <typename Made, typename Make>
Made& of_this_generation(std::atomic<Made*>& slot, const Make& make) {
  Made* current = slot.load(std::memory_order_acquire);
  while (current == nullptr || current->generation != fork_generation()) {
    Made* fresh = make();
    if (slot.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
  }
  return *current;
}

}  // namespace anymps::gpu::support
