// Batches of crops for training. Which crop of which pair comes when follows from the seed and the batch's number
// alone, so that a training that goes on from a checkpoint sees what it would have seen, and workers change nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "superres/files/store.h"

namespace anymps::superres::training {

struct BatchOptions {
  int batch = 16;
  int crop = 48;  // side of a crop at low resolution
  int scale = 2;
  std::uint64_t seed = 0;
  std::uint64_t first = 0;  // pairs below are kept for validation
  std::uint64_t pairs = 0;  // of the database: what is added to it later is left out
  int workers = 0;          // threads that read ahead; 0: the caller's own
  bool pin_memory = false;
};

struct Batch {
  at::Tensor low;  // N x 3 x H x W, float, 0 to 1, on the CPU
  at::Tensor high;
};

class Batches {
 public:
  // `store` must outlive it.
  Batches(const files::Store& store, const BatchOptions& options, std::uint64_t next);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // In the order of their numbers. Pairs that are smaller than a crop are passed over. Throws what reading them threw,
  // and std::invalid_argument where no pair is as large as a crop.
  Batch next();

 private:
  struct Readers;
  std::unique_ptr<Readers> readers_;
};

// Batch `number` by itself.
Batch batch_at(const files::Store& store, const BatchOptions& options, std::uint64_t number);

}  // namespace anymps::superres::training
