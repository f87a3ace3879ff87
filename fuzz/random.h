// Numbers from a seed, without the standard's distributions, which differ from library to library.
#pragma once

#include <cstdint>
#include <iterator>

namespace anymps::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    return mixed(state_);
  }
  unsigned below(unsigned count) { return static_cast<unsigned>((next() >> 32) * count >> 32); }
  unsigned between(unsigned least, unsigned most) { return least + below(most - least + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename List>
  const auto& one_of(const List& list) {
    return std::data(list)[below(static_cast<unsigned>(std::size(list)))];
  }

 private:
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace anymps::fuzz
