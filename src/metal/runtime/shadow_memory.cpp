#include "metal/runtime/shadow_memory.h"

#include <algorithm>

namespace anymps::metal::runtime {
namespace {

constexpr unsigned kShadowPageShift = 12;
constexpr std::uintptr_t kShadowPageBytes = std::uintptr_t{1} << kShadowPageShift;
constexpr unsigned kWordShift = 2;

bool same_simdgroup(const Stamp& a, const Stamp& b) { return a.thread / abi::kLanes == b.thread / abi::kLanes; }

template <typename Cell>
void repeat_each(std::vector<Cell>& cells, std::size_t times) {
  std::vector<Cell> more;
  more.reserve(cells.size() * times);
  for (const Cell& cell : cells) more.insert(more.end(), times, cell);
  cells = std::move(more);
}

void widen(std::optional<Conflict>& found, const Stamp& earlier, bool writes, std::uintptr_t begin,
           std::uintptr_t end) {
  if (!found) found = {.earlier = earlier, .earlier_writes = writes, .begin = begin, .end = end};
  found->end = end;
}

}  // namespace

void Shadow::split(Page& page) {
  constexpr std::size_t kBytesOfWord = std::size_t{1} << kWordShift;
  repeat_each(page.writers, kBytesOfWord);
  repeat_each(page.readers, kBytesOfWord);
  page.shift = 0;
}

Shadow::Page& Shadow::page(std::uintptr_t number) {
  Recent& recent = recent_[number % recent_.size()];
  if (recent.number != number) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) {
      page = std::make_unique<Page>();
      page->writers.resize(kShadowPageBytes >> kWordShift);
    }
    recent = {number, page.get()};
  }
  return *recent.page;
}

bool Shadow::at_odds(const Stamp& earlier, const Stamp& now) const {
  if (earlier.group == 0 || (earlier.atomic != 0 && now.atomic != 0)) return false;
  if (earlier.group != now.group) return !of_threadgroup_;
  if (earlier.thread == now.thread || earlier.epoch != now.epoch) return false;
  return !same_simdgroup(earlier, now) || earlier.clock >= now.clock;
}

// Calls visit(page, cell, begin, end) for each cell that the bytes touch.
template <typename Visit>
void Shadow::visit(std::uintptr_t address, std::uint64_t bytes, Visit visit) {
  const std::uintptr_t end = address + bytes;
  while (address < end) {
    Page& touched = page(address >> kShadowPageShift);
    const std::uintptr_t first = address & ~(kShadowPageBytes - 1);
    const std::uintptr_t last = std::min(end, first + kShadowPageBytes);
    if (touched.shift != 0 && ((address | last) & ((1U << kWordShift) - 1)) != 0) split(touched);
    const std::uintptr_t step = std::uintptr_t{1} << touched.shift;
    for (; address < last; address += step) visit(touched, (address - first) >> touched.shift, address, address + step);
  }
}

void Shadow::remember(Readers& readers, const Stamp& now) const {
  Stamp& last = readers.last;
  if (last.group != now.group) {
    readers = {.last = now, .lane = {}, .simdgroup = {}, .group = last};
  } else if (last.epoch != now.epoch) {
    readers = {.last = now, .lane = {}, .simdgroup = {}, .group = readers.group};
  } else if (last.thread == now.thread) {
    last = now;
  } else if (!same_simdgroup(last, now)) {
    readers = {.last = now, .lane = {}, .simdgroup = last, .group = readers.group};
  } else {
    readers.lane = now.clock > last.clock ? Stamp{} : last;
    last = now;
  }
}

std::optional<Conflict> Shadow::read(std::uintptr_t address, std::uint64_t bytes, const Stamp& now) {
  std::optional<Conflict> found;
  visit(address, bytes, [&](Page& page, std::size_t cell, std::uintptr_t begin, std::uintptr_t end) {
    if (page.readers.empty()) page.readers.resize(page.writers.size());
    if (at_odds(page.writers[cell], now)) widen(found, page.writers[cell], true, begin, end);
    remember(page.readers[cell], now);
  });
  return found;
}

std::optional<Conflict> Shadow::write(std::uintptr_t address, std::uint64_t bytes, const Stamp& now) {
  std::optional<Conflict> found;
  visit(address, bytes, [&](Page& page, std::size_t cell, std::uintptr_t begin, std::uintptr_t end) {
    if (!page.readers.empty()) {
      const Readers& readers = page.readers[cell];
      for (const Stamp* reader : {&readers.last, &readers.lane, &readers.simdgroup, &readers.group}) {
        if (at_odds(*reader, now)) widen(found, *reader, false, begin, end);
      }
    }
    Stamp& writer = page.writers[cell];
    if (at_odds(writer, now)) widen(found, writer, true, begin, end);
    writer = now;
  });
  return found;
}

}  // namespace anymps::metal::runtime
