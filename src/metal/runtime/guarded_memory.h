// Memory of a thread between guard pages: whoever steps over its edge meets a fault, not what lies beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace anymps::metal::runtime {

// What a thread has of it, one of each at a time.
enum class Guarded : std::uint8_t { kStack, kFrames, kThreadgroupMemory };

class GuardedMemory {
 public:
  // For this thread, which must also end it. Rounded up to pages, which are the system's until they are touched. Throws
  // std::bad_alloc.
  GuardedMemory(Guarded use, std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* begin() const { return begin_; }
  std::byte* end() const { return begin_ + bytes_; }
  // Gives the pages back that were touched, with what they hold.
  void give_back() const;

  // Whose guard pages of this thread an address is in. Safe in a signal handler.
  static std::optional<Guarded> whose_guard(std::uintptr_t address);

 private:
  const Guarded use_;
  const std::size_t bytes_;
  std::byte* const begin_;
};

}  // namespace anymps::metal::runtime
