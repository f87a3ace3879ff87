#include "superres/training/batches.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "superres/pictures/pixels.h"

namespace anymps::superres::training {
namespace {

// SplitMix64: from any two numbers one that looks like chance.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + 0x9e3779b97f4a7c15U * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::uint64_t below(std::uint64_t random, std::uint64_t count) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(random) * count) >> 64);
}

// Where `place` goes in the epoch's order: a Feistel network over the next power of four is a permutation, and what it
// puts beyond the end is put through it again. So no list is kept, however many pairs there are.
std::uint64_t shuffled(std::uint64_t place, std::uint64_t count, std::uint64_t key) {
  int half = 1;
  while ((std::uint64_t{1} << (2 * half)) < count) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = place >> half;
    std::uint64_t right = place & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(key + round, right) & mask);
      left = right;
      right = next;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

at::Tensor cut(const files::Image& image, std::int64_t x, std::int64_t y, std::int64_t side, std::uint64_t turn) {
  const auto length = static_cast<int>(side);
  at::Tensor pixels = pictures::tensor_of(
      pictures::rgb_of(pictures::cropped(image, static_cast<int>(x), static_cast<int>(y), length, length)));
  if ((turn & 1) != 0) pixels = pixels.flip(2);
  if ((turn & 2) != 0) pixels = pixels.flip(1);
  if ((turn & 4) != 0) pixels = pixels.transpose(1, 2);
  return pixels;
}

// The pair at `place`, or the next one behind it that has room for a crop.
files::Pair pair_from(const files::Store& store, const BatchOptions& options, std::uint64_t place) {
  const std::uint64_t count = options.pairs - options.first;
  for (std::uint64_t i = 0; i < count; ++i) {
    files::Pair pair = store.at(options.first + (place + i) % count);
    if (pair.low.width >= options.crop && pair.low.height >= options.crop) return pair;
  }
  throw std::invalid_argument(fmt::format(
      "all pairs are smaller than a crop of {}: choose a smaller --crop, or pack larger pictures", options.crop));
}

}  // namespace

Batch batch_at(const files::Store& store, const BatchOptions& options, std::uint64_t number) {
  const std::uint64_t count = options.pairs - options.first;
  const auto batch = static_cast<std::uint64_t>(options.batch);
  std::vector<at::Tensor> lows;
  std::vector<at::Tensor> highs;
  for (std::uint64_t i = number * batch; i < (number + 1) * batch; ++i) {
    const std::uint64_t epoch = i / count;
    const files::Pair pair = pair_from(store, options, shuffled(i % count, count, mixed(options.seed, epoch)));
    const std::uint64_t chance = mixed(options.seed ^ 0x5eed, i);
    const auto somewhere = [&](std::uint64_t which, int side) {
      const std::uint64_t places = static_cast<std::uint64_t>(side) - static_cast<std::uint64_t>(options.crop) + 1;
      return static_cast<std::int64_t>(below(mixed(chance, which), places));
    };
    const std::int64_t x = somewhere(1, pair.low.width);
    const std::int64_t y = somewhere(2, pair.low.height);
    const std::uint64_t turn = mixed(chance, 3) >> 61;
    lows.push_back(cut(pair.low, x, y, options.crop, turn));
    highs.push_back(
        cut(pair.high, x * options.scale, y * options.scale, std::int64_t{options.crop} * options.scale, turn));
  }
  Batch made{at::stack(lows), at::stack(highs)};
  if (options.pin_memory) made = {made.low.pin_memory(), made.high.pin_memory()};
  return made;
}

// Each worker takes the next number; the caller takes them back in order.
struct Batches::Readers {
  Readers(const files::Store& store, const BatchOptions& options, std::uint64_t next)
      : store(store), options(options), wanted(next), taken(next) {
    for (int i = 0; i < options.workers; ++i) threads.emplace_back([this] { work(); });
  }

  ~Readers() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_all();
  }

  Batch next() {
    if (threads.empty()) return batch_at(store, options, wanted++);
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !ready.empty() && ready.front().valid(); });
    std::future<Batch> front = std::move(ready.front());
    ready.pop_front();
    ++wanted;
    lock.unlock();
    changed.notify_all();
    return front.get();
  }

  void work() {
    while (true) {
      std::unique_lock lock(mutex);
      changed.wait(lock,
                   [this] { return stopped || taken < wanted + 2 * static_cast<std::uint64_t>(options.workers); });
      if (stopped) return;
      const std::uint64_t number = taken++;
      std::promise<Batch> promise;
      ready.push_back(promise.get_future());
      lock.unlock();
      changed.notify_all();
      try {
        promise.set_value(batch_at(store, options, number));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
  }

  const files::Store& store;
  const BatchOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::future<Batch>> ready;  // of the numbers from `wanted` to `taken`
  std::uint64_t wanted;
  std::uint64_t taken;
  bool stopped = false;
  std::vector<std::jthread> threads;  // last, so that they end before what they use
};

Batches::Batches(const files::Store& store, const BatchOptions& options, std::uint64_t next)
    : readers_(std::make_unique<Readers>(store, options, next)) {}

Batches::~Batches() = default;

Batch Batches::next() { return readers_->next(); }

}  // namespace anymps::superres::training
