#include "gpu/cache/compile_cache.h"

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "gpu/cache/memory_cache.h"
#include "gpu/support/fork_generation.h"

namespace anymps::gpu::cache {

struct CompileCache::State {
  // One entry in the making, shared by the thread that makes it and those that wait.
  struct Making {
    bool done = false;
    support::Blob made;
    std::exception_ptr failure;
  };

  explicit State(std::size_t memory_limit) : memory(memory_limit) {}

  const std::uint32_t generation = support::fork_generation();
  std::mutex mutex;
  std::condition_variable something_done;
  MemoryCache memory;
  std::unordered_map<CacheKey, std::shared_ptr<Making>> makings;
};

CompileCache::CompileCache(Options options)
    : options_(std::move(options)),
      disk_(options_.folder, options_.disk_limit, options_.write),
      state_(new State(options_.memory_limit)) {}

CompileCache::~CompileCache() {
  if (State* state = state_.load(); state->generation == support::fork_generation()) delete state;
}

CompileCache::State& CompileCache::state() {
  return support::of_this_generation(state_, [this] { return new State(options_.memory_limit); });
}

std::optional<support::Blob> CompileCache::find(const CacheKey& key) {
  State& state = this->state();
  {
    const std::lock_guard lock(state.mutex);
    if (auto blob = state.memory.find(key)) return blob;
  }
  auto blob = disk_.find(key);
  if (blob) {
    const std::lock_guard lock(state.mutex);
    state.memory.put(key, *blob);
  }
  return blob;
}

void CompileCache::put(const CacheKey& key, std::span<const std::byte> bytes) {
  State& state = this->state();
  {
    const std::lock_guard lock(state.mutex);
    state.memory.put(key, support::Blob::copy_of(bytes));
  }
  write_to_disk(key, bytes);
}

support::Blob CompileCache::get_or_make(const CacheKey& key, const std::function<support::Blob()>& make) {
  State& state = this->state();
  std::unique_lock lock(state.mutex);
  if (auto blob = state.memory.find(key)) return *blob;
  auto& place = state.makings[key];
  if (place) {
    const auto making = place;
    state.something_done.wait(lock, [&] { return making->done; });
    if (making->failure) std::rethrow_exception(making->failure);
    return making->made;
  }
  const auto making = place = std::make_shared<State::Making>();
  lock.unlock();

  bool fresh = false;
  try {
    if (auto found = disk_.find(key)) {
      making->made = *std::move(found);
    } else {
      making->made = make();
      fresh = true;
    }
  } catch (...) {
    making->failure = std::current_exception();
  }

  lock.lock();
  making->done = true;
  state.makings.erase(key);
  state.something_done.notify_all();
  if (!making->failure) state.memory.put(key, making->made);
  lock.unlock();
  if (making->failure) std::rethrow_exception(making->failure);
  if (fresh) write_to_disk(key, making->made.bytes());
  return making->made;
}

void CompileCache::write_to_disk(const CacheKey& key, std::span<const std::byte> bytes) {
  const auto problem = disk_.put(key, bytes);
  if (problem && !warned_.exchange(true) && options_.warn) {
    options_.warn("compiled code is kept in memory only: " + *problem);
  }
}

CompileCache& compile_cache() {
  static CompileCache* const cache = [] {
    const auto warn = [](const std::string& text) { std::fprintf(stderr, "anymps: %s\n", text.c_str()); };
    const DiskLimit limit = disk_limit_from_environment();
    if (limit.problem) warn(*limit.problem);
    return new CompileCache({.folder = CacheFolder::of_this_user(), .disk_limit = limit.bytes, .warn = warn});
  }();
  return *cache;
}

}  // namespace anymps::gpu::cache
