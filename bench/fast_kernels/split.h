// The baseline's threads: how many, and a range shared out among them.
#pragma once
#include <cstdint>
#include <thread>
#include <vector>

inline std::uint32_t threads = 1;

// body(first, last, part) for `threads` parts of [0, count); in the caller alone when there is one.
template <class Body>
void split(std::uint32_t count, const Body& body) {
  if (threads == 1) return body(0, count, 0);
  const auto begin = [&](std::uint32_t part) {
    return static_cast<std::uint32_t>(std::uint64_t{count} * part / threads);
  };
  std::vector<std::thread> others;
  for (std::uint32_t part = 1; part < threads; ++part)
    others.emplace_back([&, part] { body(begin(part), begin(part + 1), part); });
  body(begin(0), begin(1), 0);
  for (std::thread& other : others) other.join();
}
