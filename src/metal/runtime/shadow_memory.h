// Who touched which byte of memory last, so that two threads that touch it at the same time are found.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "metal/abi/cooperative_op.h"
#include "metal/lower/transform/sanitiser.h"

namespace anymps::metal::runtime {

// An access: who, when and where in the program. Two accesses are ordered where a barrier lies between them (`epoch`),
// or, within a simdgroup, where its lanes met in between (`clock`).
struct Stamp {
  std::uint32_t group = 0;  // 1 + the threadgroup's number; 0: no access
  std::uint32_t thread : 10 = 0;
  std::uint32_t atomic : 1 = 0;
  std::uint32_t site : 21 = 0;
  std::uint32_t epoch = 0;
  std::uint32_t clock = 0;
};
static_assert(lower::transform::kMostSites == 1U << 21);

struct Conflict {
  Stamp earlier;
  bool earlier_writes = false;
  std::uintptr_t begin = 0;  // of the bytes that both touch
  std::uintptr_t end = 0;
};

class Shadow {
 public:
  // `of_threadgroup`: the memory is another one for each threadgroup.
  explicit Shadow(bool of_threadgroup) : of_threadgroup_(of_threadgroup) {}

  std::optional<Conflict> read(std::uintptr_t address, std::uint64_t bytes, const Stamp& now);
  std::optional<Conflict> write(std::uintptr_t address, std::uint64_t bytes, const Stamp& now);

 private:
  // Enough readers that one of them is at odds with any writer that is at odds with some reader: two lanes of the
  // simdgroup that read last, one of another simdgroup, one of another threadgroup.
  struct Readers {
    Stamp last;
    Stamp lane;
    Stamp simdgroup;
    Stamp group;
  };
  // Words have one cell each until something smaller is touched; then bytes have.
  struct Page {
    unsigned shift = 2;
    std::vector<Stamp> writers;
    std::vector<Readers> readers;  // empty until something is read
  };

  Page& page(std::uintptr_t number);
  static void split(Page& page);
  bool at_odds(const Stamp& earlier, const Stamp& now) const;
  void remember(Readers& readers, const Stamp& now) const;
  template <typename Visit>
  void visit(std::uintptr_t address, std::uint64_t bytes, Visit visit);

  const bool of_threadgroup_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  struct Recent {
    std::uintptr_t number = UINTPTR_MAX;
    Page* page = nullptr;
  };
  std::array<Recent, 64> recent_;
};

}  // namespace anymps::metal::runtime
