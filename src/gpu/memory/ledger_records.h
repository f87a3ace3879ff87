// What the books have of heaps and of the buffers in them, whichever rules they follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anymps::gpu::memory {

struct LedgerHeap {
  std::size_t size = 0;
  std::uint64_t id = 0;
  std::uint64_t address = 0;  // a range of its own for each, as if none were given back
  std::uint64_t stack = 0;    // of the request that it was made for
  bool small_pool = false;
};

struct LedgerBuffer {
  std::size_t size = 0;       // after rounding
  std::size_t requested = 0;  // by who uses it
  std::size_t offset = 0;     // in its heap
  LedgerHeap* heap = nullptr;
  std::uint64_t id = 0;
  std::uint64_t stack = 0;  // of who uses it
  std::uint32_t uses = 0;
  bool in_use = false;
};

// All heaps and what is in them, at one moment.
struct LedgerBooks {
  struct Entry {
    std::size_t offset;
    std::size_t size;       // after rounding
    std::size_t requested;  // by who uses it; 0 where it is cached
    std::uint64_t stack;    // as allocate() was told; 0 where it is cached
    bool in_use;

    static Entry of(const LedgerBuffer& buffer) {
      return {buffer.offset, buffer.size, buffer.in_use ? buffer.requested : 0, buffer.in_use ? buffer.stack : 0,
              buffer.in_use};
    }
  };
  struct Segment {
    std::uint64_t address;
    std::size_t size;
    std::uint64_t stack;  // of the request that it was made for
    bool small_pool;
    std::vector<Entry> buffers;  // by offset

    static Segment of(const LedgerHeap& heap) { return {heap.address, heap.size, heap.stack, heap.small_pool, {}}; }
  };
  std::vector<Segment> heaps;  // by address
  std::uint64_t events;        // recorded so far
  std::uint64_t trace_end;     // the trace's index behind the last of them
};

}  // namespace anymps::gpu::memory
