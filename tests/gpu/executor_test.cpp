#include "gpu/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpu/forked_child.h"
#include "gpu/thread_pool.h"

#ifdef __SANITIZE_THREAD__
// A child that starts threads is what the tests of forking are about.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }  // NOLINT
#endif

namespace anymps::gpu {
namespace {

// How often each of `count` was visited, and the lengths of the ranges.
struct Visits {
  explicit Visits(std::size_t count) : each(count) {}
  Executor::Body body() {
    return [this](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++each[i];
      const std::lock_guard lock(mutex);
      lengths.push_back(end - begin);
    };
  }
  bool all_once() const {
    return std::all_of(each.begin(), each.end(), [](const auto& visits) { return visits == 1; });
  }

  std::vector<std::atomic<int>> each;
  std::mutex mutex;
  std::vector<std::size_t> lengths;
};

TEST(ThreadPoolTest, CoversTheRangeOnce) {
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t count : {0, 1, 2, 7, 31, 32, 33, 1000, 4097}) {
      for (const std::size_t grain : {0, 1, 5, 100, 5000}) {
        Visits visits(count);
        pool.parallel_for(count, grain, visits.body());
        EXPECT_TRUE(visits.all_once()) << threads << " threads, " << count << " by " << grain;
        for (std::size_t i = 0; i < visits.lengths.size(); ++i) EXPECT_GT(visits.lengths[i], 0U);
        const auto shorter = std::count_if(visits.lengths.begin(), visits.lengths.end(),
                                           [&](std::size_t length) { return length < std::min(grain, count); });
        EXPECT_LE(shorter, 1);
      }
    }
  }
}

TEST(ThreadPoolTest, UsesItsThreadsAndTheCallers) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> inside{0};
  // Every range waits for the others, so it takes three threads to get through.
  pool.parallel_for(3, 1, [&](std::size_t, std::size_t) {
    ++inside;
    while (inside < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(ThreadPoolTest, NestedCallsRunInline) {
  ThreadPool pool(4);
  constexpr std::size_t kOuter = 16;
  constexpr std::size_t kInner = 100;
  std::vector<std::atomic<int>> each(kOuter * kInner);
  std::atomic<int> divided{0};
  pool.parallel_for(kOuter, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      pool.parallel_for(kInner, 1, [&](std::size_t inner_begin, std::size_t inner_end) {
        divided += inner_end - inner_begin != kInner;
        for (std::size_t j = inner_begin; j < inner_end; ++j) ++each[i * kInner + j];
      });
    }
  });
  EXPECT_EQ(divided, 0);
  EXPECT_TRUE(std::all_of(each.begin(), each.end(), [](const auto& visits) { return visits == 1; }));
}

TEST(ThreadPoolTest, AnExceptionReachesTheCallerWhenNoBodyRuns) {
  ThreadPool pool(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running{0};
    std::atomic<int> thrown{0};
    try {
      pool.parallel_for(64, 1, [&](std::size_t begin, std::size_t) {
        ++running;
        if (begin % 8 == 0) {
          ++thrown;
          --running;
          throw std::runtime_error("out of range " + std::to_string(begin));
        }
        --running;
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 12), "out of range");
      EXPECT_EQ(running, 0);
      EXPECT_GE(thrown, 1);
    }
  }
  Visits visits(1000);
  pool.parallel_for(1000, 1, visits.body());
  EXPECT_TRUE(visits.all_once()) << "after the exceptions";
}

TEST(ThreadPoolTest, AnExceptionOfANestedCallReachesTheOuterCaller) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.parallel_for(8, 1,
                                 [&](std::size_t, std::size_t) {
                                   pool.parallel_for(8, 1,
                                                     [](std::size_t, std::size_t) { throw std::range_error(""); });
                                 }),
               std::range_error);
}

TEST(ThreadPoolTest, SeveralCallersShareIt) {
  ThreadPool pool(3);
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        Visits visits(257);
        pool.parallel_for(257, 3, visits.body());
        good += visits.all_once();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 400);
}

TEST(ThreadPoolTest, StartsNoThreadForWhatRunsInline) {
  ThreadPool pool(1000);
  std::size_t longest = 0;
  pool.parallel_for(10, 100, [&](std::size_t begin, std::size_t end) { longest = end - begin; });
  EXPECT_EQ(longest, 10U);
}

TEST(ThreadPoolTest, AForkedChildStartsItsOwnThreads) {
  ThreadPool pool(3);
  const auto three_at_once = [&pool] {
    std::atomic<int> inside{0};
    pool.parallel_for(3, 1, [&](std::size_t, std::size_t) {
      ++inside;
      while (inside < 3) std::this_thread::yield();
    });
    Visits visits(1000);
    pool.parallel_for(1000, 1, visits.body());
    return visits.all_once();
  };
  // All of the parent's threads have started and are at rest when it forks.
  EXPECT_TRUE(three_at_once());
  EXPECT_TRUE(holds_in_child([&] { return three_at_once() && holds_in_child(three_at_once); }));
  EXPECT_TRUE(three_at_once());
}

// Another thread is in the middle of its calls, with the pool's mutex held or not, when the child comes into being.
TEST(ThreadPoolTest, AChildMayBeForkedWhileOthersUseThePool) {
  if (!kForksAmongBusyThreads) GTEST_SKIP() << "the sanitizer's locks are not forked";
  ThreadPool pool(3);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      Visits visits(64);
      pool.parallel_for(64, 1, visits.body());
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(holds_in_child([&] {
      Visits visits(100);
      pool.parallel_for(100, 1, visits.body());
      return visits.all_once();
    }));
  }
  stop = true;
  busy.join();
}

TEST(ThreadPoolTest, APoolOfTheParentMayBeDestroyedInAChild) {
  auto pool = std::make_unique<ThreadPool>(3);
  Visits visits(100);
  pool->parallel_for(100, 1, visits.body());
  EXPECT_TRUE(holds_in_child([&] {
    pool.reset();
    return true;
  }));
}

class Counting final : public Executor {
 public:
  void parallel_for(std::size_t count, std::size_t, const Body& body) override {
    ++calls;
    body(0, count);
  }
  unsigned threads() const override { return 42; }
  int calls = 0;
};

TEST(ExecutorTest, IsThePlainPoolUntilAnotherIsChosen) {
  EXPECT_GE(executor().threads(), 1U);
  EXPECT_EQ(&executor(), &executor());
  Counting counting;
  set_executor(&counting);
  EXPECT_EQ(executor().threads(), 42U);
  executor().parallel_for(10, 1, [](std::size_t, std::size_t) {});
  EXPECT_EQ(counting.calls, 1);
  set_executor(nullptr);
  EXPECT_NE(&executor(), &counting);
  Visits visits(1000);
  executor().parallel_for(1000, 10, visits.body());
  EXPECT_TRUE(visits.all_once());
}

}  // namespace
}  // namespace anymps::gpu
