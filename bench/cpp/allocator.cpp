// Times taking and freeing a block of the device's memory against malloc, in rounds that do both in random order.
// Prints a line per round: bytes, nanoseconds of ours, nanoseconds of malloc's. bench/allocator.py makes ratios of
// them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "gpu/memory/unified_memory.h"
#include "gpu/support/machine_memory.h"

namespace {

using namespace anymps;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Case {
  std::size_t bytes;
  int calls;   // per round
  bool touch;  // one byte of each page, as the first use of a result would
};
constexpr Case kCases[] = {{4096, 20000, false}, {kMiB, 20000, false}, {64 * kMiB, 4, true}};

void use(void* block, const Case& what) {
  auto* bytes = static_cast<volatile char*>(block);
  if (!what.touch) {
    bytes[0] = 1;
    return;
  }
  for (std::size_t i = 0; i < what.bytes; i += kPage) bytes[i] = 1;
}

template <typename Take, typename Free>
double nanoseconds(const Case& what, Take take, Free give) {
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < what.calls; ++i) {
    void* block = take(what.bytes);
    use(block, what);
    give(block);
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count() / what.calls;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 60;
  gpu::memory::Ledger ledger({.working_set = 16384 * kMiB, .max_buffer = 12288 * kMiB},
                             gpu::memory::Ledger::kDefaultHighWatermark, gpu::memory::Ledger::kDefaultLowWatermark);
  gpu::memory::Heap heap(64 * gpu::support::physical_memory(), [] { return gpu::support::available_memory(); });
  gpu::memory::UnifiedMemory memory(ledger, heap);
  std::mt19937 random(0);
  for (const Case& what : kCases) {
    auto ours = [&] {
      return nanoseconds(
          what, [&](std::size_t bytes) { return memory.allocate(bytes); }, [&](void* block) { memory.free(block); });
    };
    auto theirs = [&] {
      return nanoseconds(
          what, [](std::size_t bytes) { return std::malloc(bytes); }, [](void* block) { std::free(block); });
    };
    ours();
    theirs();
    for (int round = 0; round < rounds; ++round) {
      double mine = 0;
      double other = 0;
      if (random() % 2 == 0) {
        mine = ours();
        other = theirs();
      } else {
        other = theirs();
        mine = ours();
      }
      std::printf("%zu %.1f %.1f\n", what.bytes, mine, other);
    }
  }
}
