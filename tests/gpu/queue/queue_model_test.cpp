// Random programs of queues, events and fences against a serial model. A program is a list of steps, each on a queue;
// the model runs them in that order. The cells that steps read and write are plain memory: what orders two accesses is
// the queue or an event, so ThreadSanitizer sees where the queues break an order, and the numbers show it, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/queue/command_queue.h"

namespace anymps::gpu::queue {
namespace {

constexpr std::size_t kQueues = 4;
constexpr std::size_t kCells = 12;
constexpr std::size_t kSteps = 300;

struct Step {
  enum class Kind { kWork, kThrow, kSignal, kWait, kFence };
  Kind kind = Kind::kWork;
  std::size_t queue = 0;
  std::size_t read = 0;  // cells
  std::size_t write = 0;
  std::size_t event = 0;  // that queue's
  std::uint64_t value = 0;
  bool ends_buffer = false;
};

using Cells = std::array<std::uint64_t, kCells>;

void run_work(Cells& cells, const Step& step, std::uint64_t id) {
  cells[step.write] = (cells[step.write] ^ (cells[step.read] + id)) * 0x9e3779b97f4a7c15U + 1;
}

// Makes programs in which any two accesses to a cell, one of them a write, are ordered.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::vector<Step> make() {
    while (steps_.size() < kSteps) {
      const std::size_t queue = below(kQueues);
      const std::size_t read = below(kCells);
      const std::size_t write = below(kCells);
      order_behind(queue, writes_[read]);
      order_behind(queue, writes_[write]);
      for (std::size_t other = 0; other < kQueues; ++other) order_behind(queue, {other, reads_[write][other]});
      const bool throws = below(40) == 0;
      const std::uint64_t at =
          add({.kind = throws ? Step::Kind::kThrow : Step::Kind::kWork, .queue = queue, .read = read, .write = write});
      writes_[write] = {queue, at};
      reads_[read][queue] = at;
      if (below(10) == 0) add({.kind = Step::Kind::kFence, .queue = queue});
    }
    return std::move(steps_);
  }

 private:
  struct Access {
    std::size_t queue = 0;
    std::uint64_t at = 0;  // how manieth step of its queue; 0: none
  };
  using Clock = std::array<std::uint64_t, kQueues>;

  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }

  std::uint64_t add(Step step) {
    step.ends_buffer = below(4) == 0;
    steps_.push_back(step);
    return ++clocks_[step.queue][step.queue];
  }

  void order_behind(std::size_t queue, Access access) {
    if (queue == access.queue || clocks_[queue][access.queue] >= access.at) return;
    const std::uint64_t value = ++signals_[access.queue];
    add({.kind = Step::Kind::kSignal, .queue = access.queue, .event = access.queue, .value = value});
    add({.kind = Step::Kind::kWait, .queue = queue, .event = access.queue, .value = value});
    for (std::size_t i = 0; i < kQueues; ++i) clocks_[queue][i] = std::max(clocks_[queue][i], clocks_[access.queue][i]);
  }

  std::mt19937_64 random_;
  std::vector<Step> steps_;
  std::array<Clock, kQueues> clocks_{};
  std::array<std::uint64_t, kQueues> signals_{};
  std::array<Access, kCells> writes_{};
  std::array<Clock, kCells> reads_{};
};

// The cells, and which buffers of each queue fail.
struct Outcome {
  Cells cells{};
  std::array<std::vector<bool>, kQueues> failed;
  bool operator==(const Outcome&) const = default;
};

Outcome model(const std::vector<Step>& steps) {
  Outcome outcome;
  std::array<bool, kQueues> open{};
  for (std::size_t id = 0; id < steps.size(); ++id) {
    const Step& step = steps[id];
    auto& failed = outcome.failed[step.queue];
    if (!std::exchange(open[step.queue], true)) failed.push_back(false);
    if (step.kind == Step::Kind::kThrow) failed.back() = true;
    if (step.kind == Step::Kind::kWork && !failed.back()) run_work(outcome.cells, step, id);
    if (step.ends_buffer) open[step.queue] = false;
  }
  return outcome;
}

class Run {
 public:
  Run() {
    for (auto& event : events_) event = std::make_shared<SharedEvent>();
  }

  // Several threads encode, each the steps of its queues.
  Outcome run(const std::vector<Step>& steps, std::size_t threads, std::uint64_t seed) {
    std::vector<std::thread> encoders;
    for (std::size_t thread = 0; thread < threads; ++thread)
      encoders.emplace_back([&, thread] { encode(steps, thread, threads, seed + thread); });
    for (std::thread& each : encoders) each.join();
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
      for (const auto& buffer : buffers_[queue]) {
        buffer->wait_until_completed();
        outcome_.failed[queue].push_back(buffer->status() == CommandBufferStatus::kError);
      }
    }
    return std::move(outcome_);
  }

 private:
  void encode(const std::vector<Step>& steps, std::size_t thread, std::size_t threads, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<std::shared_ptr<CommandBuffer>, kQueues> open;
    std::array<std::shared_ptr<CommandBuffer>, kQueues> late;
    for (std::size_t id = 0; id < steps.size(); ++id) {
      const Step step = steps[id];
      if (step.queue % threads != thread) continue;
      auto& buffer = open[step.queue];
      if (!buffer) {
        buffer = queues_[step.queue].make_command_buffer();
        if (random() % 2 == 0) buffer->enqueue();
      }
      encode(*buffer, step, id);
      if (!step.ends_buffer) continue;
      buffers_[step.queue].push_back(buffer);
      // Its place is taken, and its commit may come behind that of the next one.
      buffer->enqueue();
      const bool wants_to_be_late = random() % 3 == 0;
      std::shared_ptr<CommandBuffer>& kept = late[step.queue];
      if (wants_to_be_late && !kept) {
        kept = std::move(buffer);
      } else {
        std::exchange(buffer, nullptr)->commit();
        if (kept) std::exchange(kept, nullptr)->commit();
      }
    }
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
      if (late[queue]) late[queue]->commit();
      if (!open[queue]) continue;
      buffers_[queue].push_back(open[queue]);
      open[queue]->commit();
    }
  }

  void encode(CommandBuffer& buffer, const Step& step, std::uint64_t id) {
    switch (step.kind) {
      case Step::Kind::kWork:
        buffer.make_encoder().encode([this, step, id] { run_work(outcome_.cells, step, id); });
        break;
      case Step::Kind::kThrow:
        buffer.make_encoder().encode([] { throw std::runtime_error("a step that throws"); });
        break;
      case Step::Kind::kSignal:
        buffer.encode_signal(events_[step.event], step.value);
        break;
      case Step::Kind::kWait:
        buffer.encode_wait(events_[step.event], step.value);
        break;
      case Step::Kind::kFence: {
        buffer.make_encoder().update(fences_[step.queue]);
        buffer.make_encoder().wait(fences_[step.queue]);
        break;
      }
    }
  }

  std::array<CommandQueue, kQueues> queues_;
  std::array<std::shared_ptr<SharedEvent>, kQueues> events_;
  std::array<Fence, kQueues> fences_;
  std::array<std::vector<std::shared_ptr<CommandBuffer>>, kQueues> buffers_;
  Outcome outcome_;
};

void expect_as_modelled(std::uint64_t seed, std::size_t threads) {
  const std::vector<Step> steps = Generator(seed).make();
  const Outcome expected = model(steps);
  EXPECT_EQ(Run().run(steps, threads, seed), expected) << "seed " << seed << ", " << threads << " encoding threads";
}

TEST(QueueModelTest, OneThreadEncodes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) expect_as_modelled(seed, 1);
}

TEST(QueueModelTest, SeveralThreadsEncode) {
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) expect_as_modelled(seed, seed % 3 + 2);
}

}  // namespace
}  // namespace anymps::gpu::queue
