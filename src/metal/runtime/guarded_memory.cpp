#include "metal/runtime/guarded_memory.h"

#include <sys/mman.h>

#include <array>
#include <new>

#include "gpu/support/round_up.h"

namespace anymps::metal::runtime {
namespace {

// More than the largest page that Linux has by default, and more than code steps over at once.
constexpr std::size_t kGuardBytes = std::size_t{1} << 20;
constexpr std::size_t kPageBytes = std::size_t{64} << 10;

thread_local std::array<const GuardedMemory*, 3> of_this_thread{};

std::byte* reserve(std::size_t bytes) {
  void* range = ::mmap(nullptr, bytes + 2 * kGuardBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(range) + kGuardBytes;
  if (::mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(range, bytes + 2 * kGuardBytes);
    throw std::bad_alloc();
  }
  return begin;
}

}  // namespace

GuardedMemory::GuardedMemory(Guarded use, std::size_t bytes)
    : use_(use), bytes_(gpu::support::round_up(bytes, kPageBytes)), begin_(reserve(bytes_)) {
  of_this_thread[static_cast<std::size_t>(use)] = this;
}

GuardedMemory::~GuardedMemory() {
  const GuardedMemory*& known = of_this_thread[static_cast<std::size_t>(use_)];
  if (known == this) known = nullptr;
  ::munmap(begin_ - kGuardBytes, bytes_ + 2 * kGuardBytes);
}

void GuardedMemory::give_back() const { ::madvise(begin_, bytes_, MADV_DONTNEED); }

std::optional<Guarded> GuardedMemory::whose_guard(std::uintptr_t address) {
  for (const GuardedMemory* memory : of_this_thread) {
    if (memory == nullptr) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory->begin());
    const auto end = reinterpret_cast<std::uintptr_t>(memory->end());
    if ((address < begin && begin - address <= kGuardBytes) || (address >= end && address - end < kGuardBytes)) {
      return memory->use_;
    }
  }
  return std::nullopt;
}

}  // namespace anymps::metal::runtime
