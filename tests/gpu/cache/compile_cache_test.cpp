#include "gpu/cache/compile_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu/cache/memory_cache.h"
#include "gpu/cache_samples.h"
#include "gpu/forked_child.h"
#include "scratch_folder.h"

namespace anymps::gpu::cache {
namespace {

support::Blob blob(std::string_view text) { return support::Blob::copy_of(bytes_of(text)); }

support::Blob never_made() { throw std::logic_error("it was there"); }

TEST(MemoryCacheTest, DropsWhatWasNotUsedForLongest) {
  MemoryCache cache(3 * 1256);
  for (unsigned i = 0; i < 3; ++i) cache.put(key(i), blob(std::string(1000, 'x')));
  EXPECT_TRUE(cache.find(key(0)));
  cache.put(key(3), blob(std::string(1000, 'x')));
  EXPECT_TRUE(cache.find(key(0)));
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_TRUE(cache.find(key(2)));
  EXPECT_TRUE(cache.find(key(3)));
}

TEST(MemoryCacheTest, ReplacesAndLeavesOutWhatIsTooLarge) {
  MemoryCache cache(2000);
  cache.put(key(1), blob("one"));
  cache.put(key(1), blob("two"));
  EXPECT_EQ(text_of(cache.find(key(1))), "two");
  cache.put(key(2), blob(std::string(2000, 'x')));
  EXPECT_FALSE(cache.find(key(2)));
  EXPECT_TRUE(cache.find(key(1)));
  cache.put(key(1), blob(std::string(2000, 'x')));
  EXPECT_FALSE(cache.find(key(1))) << "the entry that was replaced must not come back";
}

class CompileCacheTest : public ::testing::Test {
 protected:
  CompileCache::Options options() {
    return {.folder = CacheFolder(scratch_.path() / "cache"), .warn = [this](const std::string& text) {
              const std::lock_guard lock(mutex_);
              warnings_.push_back(text);
            }};
  }

  ScratchFolder scratch_;
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_F(CompileCacheTest, ServesFromMemoryAndFromDisk) {
  CompileCache cache(options());
  EXPECT_FALSE(cache.find(key(1)));
  cache.put(key(1), bytes_of("one"));
  EXPECT_EQ(text_of(cache.find(key(1))), "one");
  std::filesystem::remove_all(scratch_.path() / "cache");
  EXPECT_EQ(text_of(cache.find(key(1))), "one") << "from memory";
  cache.put(key(2), bytes_of("two"));
  CompileCache next(options());
  EXPECT_FALSE(next.find(key(1)));
  EXPECT_EQ(text_of(next.find(key(2))), "two") << "from disk";
  std::filesystem::remove_all(scratch_.path() / "cache");
  EXPECT_EQ(text_of(next.find(key(2))), "two") << "from memory, after the disk";
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CompileCacheTest, MakesWhatIsAbsentAndKeepsIt) {
  {
    CompileCache cache(options());
    EXPECT_EQ(text_of(cache.get_or_make(key(1), [] { return blob("made"); })), "made");
    EXPECT_EQ(text_of(cache.get_or_make(key(1), never_made)), "made");
  }
  CompileCache next(options());
  EXPECT_EQ(text_of(next.get_or_make(key(1), never_made)), "made");
}

TEST_F(CompileCacheTest, OneThreadMakesAndTheOthersWait) {
  CompileCache cache(options());
  std::atomic<int> made{0};
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (unsigned number = 0; number < 20; ++number) {
        const support::Blob got = cache.get_or_make(key(number), [&] {
          ++made;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return blob(std::to_string(number));
        });
        served += text_of(got) == std::to_string(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 20);
  EXPECT_EQ(served, 160);
}

TEST_F(CompileCacheTest, AMakerMayAskForAnotherKey) {
  CompileCache cache(options());
  const support::Blob outer = cache.get_or_make(
      key(1), [&] { return blob("around " + text_of(cache.get_or_make(key(2), [] { return blob("inner"); }))); });
  EXPECT_EQ(text_of(outer), "around inner");
}

TEST_F(CompileCacheTest, AFailureReachesAllWhoWaitAndIsNotKept) {
  CompileCache cache(options());
  constexpr int kThreads = 4;
  std::atomic<int> asking{0};
  std::atomic<int> made{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      try {
        ++asking;
        cache.get_or_make(key(1), [&]() -> support::Blob {
          ++made;
          while (asking < kThreads) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for the others to reach their wait
          throw std::runtime_error("does not compile");
        });
      } catch (const std::runtime_error& error) {
        failed += std::string(error.what()) == "does not compile";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, kThreads);
  EXPECT_LT(made, kThreads);
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_EQ(text_of(cache.get_or_make(key(1), [] { return blob("second try"); })), "second try");
}

TEST_F(CompileCacheTest, ManyThreadsWithLittleMemory) {
  auto options = this->options();
  options.memory_limit = 4000;
  options.disk_limit = 20000;
  CompileCache cache(options);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (unsigned i = 0; i < 300; ++i) {
        const unsigned number = (i * 7 + seed * 13) % 40;
        const std::string text(100 + number * 31 % 900, static_cast<char>('a' + number % 26));
        if (i % 3 == 0) {
          cache.put(key(number), bytes_of(text));
        } else if (i % 3 == 1) {
          const auto found = cache.find(key(number));
          wrong += found && text_of(found) != text;
        } else {
          wrong += text_of(cache.get_or_make(key(number), [&] { return blob(text); })) != text;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.disk().usage().bytes, 20000U + 4 * 1200);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

ssize_t write_to_full_disk(int, const void*, std::size_t) {
  errno = ENOSPC;
  return -1;
}

TEST_F(CompileCacheTest, AFullDiskIsSaidOnceAndMemoryServes) {
  auto options = this->options();
  options.write = write_to_full_disk;
  CompileCache cache(options);
  for (unsigned i = 0; i < 3; ++i) {
    cache.put(key(i), bytes_of("one"));
    EXPECT_EQ(text_of(cache.find(key(i))), "one");
  }
  EXPECT_EQ(text_of(cache.get_or_make(key(9), [] { return blob("nine"); })), "nine");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("No space left"), std::string::npos) << warnings_[0];
  EXPECT_FALSE(CompileCache(this->options()).find(key(0)));
}

TEST_F(CompileCacheTest, AFolderThatCannotBeMadeIsSaidOnceAndMemoryServes) {
  auto options = this->options();
  options.folder = CacheFolder("/proc/no/such/folder");
  CompileCache cache(options);
  cache.put(key(1), bytes_of("one"));
  cache.put(key(2), bytes_of("two"));
  EXPECT_EQ(text_of(cache.find(key(1))), "one");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("/proc/no/such/folder"), std::string::npos) << warnings_[0];
}

// The child is forked while other threads are inside the cache, and while one makes what the child then asks for.
TEST_F(CompileCacheTest, AForkedChildStartsAnew) {
  if (!kForksAmongBusyThreads) GTEST_SKIP() << "the sanitizer's locks are not forked";
  CompileCache cache(options());
  cache.put(key(1), bytes_of("one"));
  std::atomic<bool> stop{false};
  std::atomic<bool> making{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) cache.put(key(2), bytes_of("two"));
    });
  }
  threads.emplace_back([&] {
    cache.get_or_make(key(3), [&] {
      making = true;
      while (!stop) std::this_thread::yield();
      return blob("by the parent");
    });
  });
  while (!making) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    const std::string own = "by child " + std::to_string(i);
    const unsigned number = 100 + static_cast<unsigned>(i);
    EXPECT_TRUE(holds_in_child([&] {
      const bool found = text_of(cache.find(key(1))) == "one";
      const bool made = !text_of(cache.get_or_make(key(3), [&] { return blob(own); })).empty();
      cache.put(key(number), bytes_of(own));
      return found && made;
    }));
    EXPECT_EQ(text_of(cache.find(key(number))), own);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text_of(cache.find(key(3))), "by the parent");
}

}  // namespace
}  // namespace anymps::gpu::cache
