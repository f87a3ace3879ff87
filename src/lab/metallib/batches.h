// A library's functions, asked for some at a time: a child that crashes takes only a few with it.
#pragma once

#include <cstddef>
#include <functional>

namespace anymps::lab::metallib {

struct MetalBatches {
  std::size_t functions = 0;  // of the library
  std::size_t step = 1;       // every so many
  std::size_t from = 0;       // the first of them
  std::size_t per_child = 100;
  // Asks for `count` functions, every step-th from `first` on; false where there was no answer.
  std::function<bool(std::size_t first, std::size_t count)> take;
  // Of one function, after there was no answer for it alone.
  std::function<void(std::size_t function)> refuse;
  std::function<bool()> interrupted;
  std::function<void(std::size_t done, std::size_t of)> progress;
};

// Where a child gave no answer, its functions are asked for one by one.
void go_through(const MetalBatches& batches);

}  // namespace anymps::lab::metallib
