// Launches of a kernel with the sanitiser and inputs that are made up: what a kernel does wrong whatever it is given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "metal/library/metallib.h"
#include "metal/lint/lint.h"
#include "metal/pipeline/validation.h"

namespace anymps::metal::tool {

struct TrialReport {
  pipeline::ValidationReport report;
  bool threadgroup = false;              // it is of threadgroup memory
  std::size_t launches = 1;              // in which it was seen
  bool always = false;                   // in every one, whatever the shape of the threadgroup
  std::array<std::uint32_t, 3> group{};  // the threadgroup of the first
  std::uint64_t fewest_threads = 0;      // of a threadgroup with which it was seen
};

struct Trial {
  std::size_t launches = 0;
  std::string not_tried;  // why inputs cannot be made up for it; empty where they were
  // Whether it takes whole numbers that say more than a length, such as indices or strides: what it does to the
  // device's memory then depends on numbers that nobody meant.
  bool made_up = false;
  // Each place of the kernel once; one for all that go beyond threadgroup memory only where the threadgroup is larger
  // than in other launches.
  std::vector<TrialReport> reports;
};

// Several grids; numbers by reference are the count of threads along x (69 at most), floats are random, whole numbers
// in buffers lie below that count, and buffers hold that count to the power of three. A kernel that knows its count is
// also launched with more threads, on buffers of that many elements. Throws pipeline::KernelError or AirError.
Trial try_kernel(const library::FunctionEntry& function, const lint::Lints& lints);

}  // namespace anymps::metal::tool
