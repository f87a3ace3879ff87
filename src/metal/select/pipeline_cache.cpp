#include "metal/select/pipeline_cache.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "gpu/executor.h"
#include "gpu/support/fork_generation.h"
#include "metal/engine/background.h"
#include "metal/engine/progress_line.h"
#include "metal/select/engine_selection.h"

namespace anymps::metal::select {
namespace {

// Of so few kernels all are made as soon as one is asked for.
constexpr std::size_t kFew = 16;
// What is made ahead for each thread, at least.
constexpr std::size_t kAheadPerThread = 2;
// Between two looks at how far it is.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

struct PipelineCache::State : std::enable_shared_from_this<State> {
  enum class Stage { kOpen, kExpected, kBeingMade, kMade };
  struct Entry {
    Stage stage = Stage::kOpen;
    bool asked = false;
    bool given = false;
    Engine engine = nullptr;       // by which it is to be made, or was
    std::uint32_t generation = 0;  // of the process that makes it: in a forked child nobody else goes on with it
    std::shared_ptr<pipeline::Pipeline> pipeline;
    std::exception_ptr failure;
  };

  State(std::vector<std::string> kernels, Make how) : names(std::move(kernels)), make(std::move(how)) {
    entries.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) places[names[i]] = i;
  }

  // The library is gone: nobody waits any more for what is expected.
  ~State() {
    for (const Entry& entry : entries) {
      if (entry.stage == Stage::kExpected) engine::ProgressLine::instance().end();
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<pipeline::Pipeline> get(std::size_t place, Engine engine) {
    std::unique_lock lock(mutex);
    Entry& entry = entries[place];
    if (!std::exchange(entry.asked, true)) {
      in_order = place == next ? in_order + 1 : 1;
      next = place + 1;
      run_ahead(engine, lock);
    }
    for (;;) {
      if (entry.stage == Stage::kBeingMade && entry.generation == gpu::support::fork_generation()) {
        engine::ProgressLine::instance().show();
        changed.wait_for(lock, kLook);
      } else if (entry.stage == Stage::kMade && (entry.given || entry.engine == engine)) {
        break;
      } else {
        make_here(place, engine, lock);
      }
    }
    engine::ProgressLine::instance().show();
    if (entry.failure != nullptr) {
      entry.stage = Stage::kOpen;
      std::rethrow_exception(std::exchange(entry.failure, nullptr));
    }
    entry.given = true;
    return entry.pipeline;
  }

  // With the lock held, which is given up meanwhile.
  void make_here(std::size_t place, Engine engine, std::unique_lock<std::mutex>& lock) {
    Entry& entry = entries[place];
    if (entry.stage != Stage::kExpected) engine::ProgressLine::instance().begin();
    entry.stage = Stage::kBeingMade;
    entry.engine = engine;
    entry.generation = gpu::support::fork_generation();
    lock.unlock();
    std::shared_ptr<pipeline::Pipeline> made;
    std::exception_ptr failure;
    try {
      made = make(names[place], engine);
    } catch (...) {
      failure = std::current_exception();
    }
    engine::ProgressLine::instance().end();
    lock.lock();
    entry.pipeline = std::move(made);
    entry.failure = failure;
    entry.stage = Stage::kMade;
    changed.notify_all();
  }

  // How many behind the kernel that is asked for are likely to be asked for, too.
  std::size_t likely() const {
    if (entries.size() <= kFew) return kFew;
    if (in_order == 1) return 0;
    return std::max<std::size_t>(in_order * in_order, kAheadPerThread * gpu::executor().threads());
  }

  void run_ahead(Engine engine, std::unique_lock<std::mutex>& lock) {
    const std::size_t end = std::min(entries.size(), next + likely());
    std::vector<std::size_t> expected;
    for (std::size_t i = next; i < end; ++i) {
      if (entries[i].stage != Stage::kOpen) continue;
      entries[i].stage = Stage::kExpected;
      entries[i].engine = engine;
      engine::ProgressLine::instance().begin();
      expected.push_back(i);
    }
    lock.unlock();  // where there are no threads, the work is done here
    for (const std::size_t i : expected) {
      engine::in_background(engine::Need::kSoon, [weak = weak_from_this(), i] {
        if (const auto state = weak.lock()) state->make_expected(i);
      });
    }
    lock.lock();
  }

  void make_expected(std::size_t place) {
    std::unique_lock lock(mutex);
    if (entries[place].stage == Stage::kExpected) make_here(place, entries[place].engine, lock);
  }

  const std::vector<std::string> names;
  const Make make;
  std::unordered_map<std::string, std::size_t> places;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Entry> entries;
  std::size_t next = 0;      // behind the one that was asked for last
  std::size_t in_order = 0;  // were asked for up to that, one after the other
};

PipelineCache::PipelineCache(std::vector<std::string> kernels, Make make)
    : state_(std::make_shared<State>(std::move(kernels), std::move(make))) {}

std::shared_ptr<pipeline::Pipeline> PipelineCache::get(const std::string& kernel) {
  const auto place = state_->places.find(kernel);
  if (place == state_->places.end()) throw std::invalid_argument("there is no kernel " + kernel);
  return state_->get(place->second, chosen_engine(kernel));
}

}  // namespace anymps::metal::select
