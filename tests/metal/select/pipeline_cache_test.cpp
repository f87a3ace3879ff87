// Which kernels of a library are made ahead, by whom, and what those see who ask.
#include "metal/select/pipeline_cache.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu/executor.h"
#include "gpu/thread_pool.h"
#include "metal/engine/progress_line.h"
#include "metal/select/engine_selection.h"

namespace anymps::metal::select {
namespace {

using namespace std::chrono_literals;

// Far more than anything here takes: where it passes, somebody does not come.
constexpr auto kNever = 60s;

class NoPipeline final : public pipeline::Pipeline {
 public:
  const air::Signature& signature() const override { return signature_; }
  abi::Route route() const override { return abi::Route::kThreadLoop; }
  void launch(const pipeline::Launch& /*launch*/, pipeline::Size /*threads*/, pipeline::Size /*group*/) override {}

 private:
  air::Signature signature_;
};

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("k" + std::to_string(i));
  return all;
}

// Four threads, whatever the machine has.
class KeptPipelinesTest : public ::testing::Test {
 protected:
  KeptPipelinesTest() { gpu::set_executor(&pool_); }
  ~KeptPipelinesTest() override { gpu::set_executor(nullptr); }

  // What counts the kernels that are made.
  PipelineCache::Make counting() {
    return [this](const std::string& kernel, Engine /*engine*/) {
      const std::lock_guard lock(mutex_);
      ++made_[kernel];
      return std::make_shared<NoPipeline>();
    };
  }
  std::size_t made() {
    const std::lock_guard lock(mutex_);
    return made_.size();
  }

  gpu::ThreadPool pool_{4};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> made_;
};

TEST_F(KeptPipelinesTest, KernelsAreMadeByMoreThanOneThread) {
  // Nobody leaves before two are here, so one thread alone would be here for ever.
  std::set<std::thread::id> here;
  bool alone = false;
  PipelineCache kept(names(200), [&](const std::string& kernel, Engine /*engine*/) {
    std::unique_lock lock(mutex_);
    if (kernel != "k0" && kernel != "k1") {  // what comes before anybody knows that all will be asked for
      here.insert(std::this_thread::get_id());
      changed_.notify_all();
      alone = alone || !changed_.wait_for(lock, kNever, [&] { return here.size() > 1; });
    }
    return std::make_shared<NoPipeline>();
  });
  for (const std::string& name : names(200)) EXPECT_NE(kept.get(name), nullptr);
  EXPECT_FALSE(alone);
}

TEST_F(KeptPipelinesTest, EachIsMadeOnceAndIsTheSameForAll) {
  PipelineCache kept(names(300), counting());
  std::vector<std::vector<std::shared_ptr<pipeline::Pipeline>>> seen(4);
  std::vector<std::thread> threads;
  for (auto& own : seen) {
    threads.emplace_back([&] {
      for (const std::string& name : names(300)) own.push_back(kept.get(name));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : seen) EXPECT_EQ(own, seen.front());
  EXPECT_EQ(made(), 300);
  for (const auto& [name, count] : made_) EXPECT_EQ(count, 1) << name;
}

TEST_F(KeptPipelinesTest, OfManyKernelsOnlyThoseAreMadeThatAreAskedFor) {
  {
    PipelineCache kept(names(1000), counting());
    for (const char* name : {"k500", "k20", "k900"}) kept.get(name);
  }
  EXPECT_EQ(made(), 3);
}

TEST_F(KeptPipelinesTest, OfFewAllAreMade) {
  PipelineCache kept(names(3), counting());
  kept.get("k0");
  const auto until = std::chrono::steady_clock::now() + kNever;
  while (made() < 3 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(made(), 3);
}

TEST_F(KeptPipelinesTest, WhatCannotBeMadeIsSaidToWhoAsksForIt) {
  std::atomic<int> tries = 0;
  PipelineCache kept(names(4),
                     [&](const std::string& kernel, Engine /*engine*/) -> std::shared_ptr<pipeline::Pipeline> {
                       if (kernel != "k2") return std::make_shared<NoPipeline>();
                       ++tries;
                       throw std::runtime_error(kernel + " cannot be made");
                     });
  for (const char* name : {"k0", "k1", "k3"}) EXPECT_NE(kept.get(name), nullptr);
  for (int i = 0; i < 2; ++i) {
    try {
      kept.get("k2");
      ADD_FAILURE() << "it was made";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "k2 cannot be made");
    }
  }
  EXPECT_EQ(tries, 2);
  EXPECT_THROW(kept.get("k4"), std::invalid_argument);
}

TEST_F(KeptPipelinesTest, AnEngineThatIsChosenLaterIsTheOneThatMakes) {
  std::map<std::string, Engine> last;
  PipelineCache kept(names(8), [&](const std::string& kernel, Engine engine) {
    const std::lock_guard lock(mutex_);
    last[kernel] = engine;
    return std::make_shared<NoPipeline>();
  });
  kept.get("k0");
  setenv("ANYMPS_METAL_ENGINE", "oracle", 1);
  const Engine oracle = chosen_engine("");
  for (int i = 1; i < 8; ++i) kept.get("k" + std::to_string(i));
  unsetenv("ANYMPS_METAL_ENGINE");
  const std::lock_guard lock(mutex_);
  EXPECT_NE(last["k0"], oracle);
  for (int i = 1; i < 8; ++i) EXPECT_EQ(last["k" + std::to_string(i)], oracle) << i;
}

// What `body` of a child process leaves on its standard error, which is a terminal or a pipe.
template <typename Body>
std::string said_by_child(bool terminal, const Body& body) {
  int ends[2];
  if ((terminal ? openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) : pipe(ends)) != 0) return "no channel";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "the child failed";
}

// A second and a half for each of three kernels that two threads make: more than two seconds.
void make_slowly() {
  gpu::ThreadPool pool(1);
  gpu::set_executor(&pool);
  PipelineCache kept(names(3), [](const std::string& /*kernel*/, Engine /*engine*/) {
    std::this_thread::sleep_for(1500ms);
    return std::make_shared<NoPipeline>();
  });
  for (const std::string& name : names(3)) kept.get(name);
}

TEST(ProgressLineTest, IsOnATerminalAndGoneAtTheEnd) {
  const std::string said = said_by_child(true, make_slowly);
  EXPECT_NE(said.find("anymps: compiling Metal kernels, "), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("\r\x1b[K")) << said;
}

TEST(ProgressLineTest, IsNotInAPipe) { EXPECT_EQ(said_by_child(false, make_slowly), ""); }

TEST(ProgressLineTest, CountsFromWhenNothingWasLeft) {
  const std::string said = said_by_child(true, [] {
    const auto start = engine::ProgressLine::Clock::now();
    engine::ProgressLine line(STDERR_FILENO);
    line.begin(start);
    line.begin(start);
    line.show(start + 1900ms);
    line.end();
    line.show(start + 2100ms);
    line.end();
    line.begin(start + 3s);
    line.show(start + 4s);
    line.end();
  });
  EXPECT_EQ(said, "\r\x1b[Kanymps: compiling Metal kernels, 1 of 2\r\x1b[K");
}

// The child finds no thread that makes them, and the compiler in a state that it can go on with.
TEST_F(KeptPipelinesTest, AForkedChildMakesWhatItsParentHadNotBegun) {
  PipelineCache kept(names(100), [](const std::string& /*kernel*/, Engine /*engine*/) {
    std::this_thread::sleep_for(5ms);
    return std::make_shared<NoPipeline>();
  });
  for (const std::string& name : names(12)) kept.get(name);
  const std::string said = said_by_child(false, [&] {
    alarm(60);
    for (const std::string& name : names(100)) kept.get(name);
  });
  EXPECT_EQ(said, "");
  for (const std::string& name : names(100)) EXPECT_NE(kept.get(name), nullptr);
}

}  // namespace
}  // namespace anymps::metal::select
