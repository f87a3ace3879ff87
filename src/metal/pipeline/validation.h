// What the sanitiser for kernels tells (docs/validation.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace anymps::metal::pipeline {

enum class Fault : std::uint8_t {
  kOutOfBounds,
  kRace,
  kUninitialised,
  kDivergentBarrier,
  kMisaligned,
  kEndlessLoop,
};

constexpr std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::kOutOfBounds:
      return "out of bounds";
    case Fault::kRace:
      return "race";
    case Fault::kUninitialised:
      return "uninitialised threadgroup memory";
    case Fault::kDivergentBarrier:
      return "divergent barrier";
    case Fault::kMisaligned:
      return "misaligned";
    case Fault::kEndlessLoop:
      return "endless loop";
  }
  return "";
}

// One fault at one place of a kernel; what is told of the thread is of the first time.
struct ValidationReport {
  Fault fault = Fault::kOutOfBounds;
  std::string kernel;
  std::string access;                     // "load", "store", "atomic", "atomic load", "atomic store", "barrier", "loop"
  std::string argument;                   // its name, or the threadgroup variable's; empty where there is none
  int binding = -1;                       // of the argument; -1 for a variable, or where there is none
  std::array<std::uint32_t, 3> thread{};  // its position in the grid
  std::array<std::uint32_t, 3> threadgroup{};
  std::int64_t offset = 0;  // in bytes, from the argument's beginning
  std::uint64_t size = 0;   // of the access
  unsigned site = 0;        // a number of the place in the kernel
  std::string place;        // "file:line" where the library has debug information
  std::uint64_t count = 1;  // how often
  std::string text;         // all of it for people, over several lines
};

}  // namespace anymps::metal::pipeline
