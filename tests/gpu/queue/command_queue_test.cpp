#include "gpu/queue/command_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu/forked_child.h"

namespace anymps::gpu::queue {
namespace {

using Status = CommandBufferStatus;

template <typename Work>
std::shared_ptr<CommandBuffer> with_work(CommandQueue& queue, Work work) {
  auto buffer = queue.make_command_buffer();
  buffer->make_encoder().encode(std::move(work));
  return buffer;
}

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    return caught.what();
  }
}

TEST(CommandBufferTest, GoesThroughMetalsStates) {
  CommandQueue queue;
  auto event = std::make_shared<SharedEvent>();
  auto buffer = queue.make_command_buffer();
  EXPECT_EQ(buffer->status(), Status::kNotEnqueued);
  buffer->enqueue();
  EXPECT_EQ(buffer->status(), Status::kEnqueued);
  buffer->encode_wait(event, 1);
  buffer->commit();
  buffer->wait_until_scheduled();
  EXPECT_EQ(buffer->status(), Status::kScheduled);
  EXPECT_EQ(buffer->gpu_end_ns(), 0U);
  event->signal(1);
  buffer->wait_until_completed();
  EXPECT_EQ(buffer->status(), Status::kCompleted);
  EXPECT_EQ(buffer->error(), nullptr);
  EXPECT_GT(buffer->gpu_start_ns(), 0U);
  EXPECT_GE(buffer->gpu_end_ns(), buffer->gpu_start_ns());
}

TEST(CommandBufferTest, RunsNothingBeforeItIsCommitted) {
  CommandQueue queue;
  std::atomic<int> ran{0};
  auto first = with_work(queue, [&] { ran = ran * 10 + 1; });
  auto second = with_work(queue, [&] { ran = ran * 10 + 2; });
  first->enqueue();
  second->commit();
  queue.run_until_idle();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(second->status(), Status::kCommitted);
  first->commit();
  second->wait_until_completed();
  EXPECT_EQ(ran, 12);
}

TEST(CommandBufferTest, CallsItsHandlersBeforeAWaitReturns) {
  CommandQueue queue;
  std::string told;
  auto buffer = with_work(queue, [&] { told += "work,"; });
  buffer->add_scheduled_handler([&](CommandBuffer& each) {
    EXPECT_EQ(each.status(), Status::kScheduled);
    told += "scheduled,";
  });
  buffer->add_completed_handler([&](CommandBuffer& each) {
    EXPECT_EQ(each.status(), Status::kCompleted);
    told += "completed";
  });
  buffer->commit();
  buffer->wait_until_completed();
  EXPECT_EQ(told, "scheduled,work,completed");
}

TEST(CommandBufferTest, AHandlerMayCommitMore) {
  CommandQueue queue;
  std::atomic<int> ran{0};
  auto first = with_work(queue, [&] { ++ran; });
  std::shared_ptr<CommandBuffer> second;
  first->add_completed_handler([&](CommandBuffer&) {
    second = with_work(queue, [&] { ++ran; });
    second->commit();
  });
  first->commit();
  first->wait_until_completed();
  second->wait_until_completed();
  EXPECT_EQ(ran, 2);
}

TEST(CommandBufferTest, ACommandThatThrowsEndsItsBufferAlone) {
  CommandQueue queue;
  auto event = std::make_shared<SharedEvent>();
  bool skipped = true;
  auto bad = queue.make_command_buffer();
  {
    CommandEncoder encoder = bad->make_encoder();
    encoder.encode([] { throw std::runtime_error("a bad kernel"); });
    encoder.encode([&] { skipped = false; });
  }
  bad->encode_signal(event, 7);
  bad->commit();
  bool ran = false;
  auto good = with_work(queue, [&] { ran = true; });
  good->commit();
  good->wait_until_completed();
  EXPECT_EQ(bad->status(), Status::kError);
  EXPECT_EQ(text_of(bad->error()), "a bad kernel");
  EXPECT_TRUE(skipped);
  EXPECT_TRUE(ran);
  EXPECT_EQ(event->signaled_value(), 7U);
  EXPECT_EQ(good->status(), Status::kCompleted);
}

TEST(CommandBufferTest, AnErrorOutlivesAWaitInTheSameBuffer) {
  CommandQueue queue;
  auto event = std::make_shared<SharedEvent>();
  bool skipped = true;
  auto buffer = queue.make_command_buffer();
  buffer->make_encoder().encode([] { throw std::runtime_error("before the wait"); });
  buffer->encode_wait(event, 1);
  buffer->make_encoder().encode([&] { skipped = false; });
  buffer->commit();
  queue.run_until_idle();
  event->signal(1);
  buffer->wait_until_completed();
  EXPECT_TRUE(skipped);
  EXPECT_EQ(text_of(buffer->error()), "before the wait");
}

TEST(CommandBufferTest, RefusesWhatMetalForbids) {
  CommandQueue queue;
  auto buffer = queue.make_command_buffer();
  EXPECT_THROW(buffer->wait_until_completed(), std::logic_error);
  {
    const CommandEncoder encoder = buffer->make_encoder();
    EXPECT_THROW(buffer->make_encoder(), std::logic_error);
    EXPECT_THROW(buffer->encode_signal(std::make_shared<SharedEvent>(), 1), std::logic_error);
    EXPECT_THROW(buffer->commit(), std::logic_error);
  }
  buffer->commit();
  EXPECT_THROW(buffer->make_encoder(), std::logic_error);
  EXPECT_THROW(buffer->add_completed_handler([](CommandBuffer&) {}), std::logic_error);
  EXPECT_THROW(buffer->commit(), std::logic_error);
}

TEST(FenceTest, BelongsToOneQueue) {
  CommandQueue one;
  CommandQueue other;
  Fence fence;
  auto first = one.make_command_buffer();
  first->make_encoder().update(fence);
  first->make_encoder().wait(fence);
  EXPECT_THROW(other.make_command_buffer()->make_encoder().wait(fence), std::logic_error);
}

TEST(CommandBufferTest, DestroysWhatItWasGiven) {
  CommandQueue queue;
  const auto token = std::make_shared<int>(0);
  {
    auto never_committed = with_work(queue, [token] {});
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
  auto buffer = with_work(queue, [token] { throw std::runtime_error("no"); });
  buffer->make_encoder().encode([token] {});
  buffer->commit();
  buffer->wait_until_completed();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(CommandBufferTest, HoldsCommandsOfAnySize) {
  CommandQueue queue;
  auto buffer = queue.make_command_buffer();
  std::size_t seen = 0;
  struct Large {
    char bytes[40000] = {};
  };
  for (int i = 0; i < 3000; ++i) buffer->make_encoder().encode([&seen] { ++seen; });
  buffer->make_encoder().encode([&seen, large = Large()] { seen += sizeof(large.bytes); });
  buffer->commit();
  buffer->wait_until_completed();
  EXPECT_EQ(seen, 43000U);
}

TEST(CommandQueueTest, GivesNoMoreBuffersThanItMayHave) {
  CommandQueue queue(2);
  auto event = std::make_shared<SharedEvent>();
  auto held = queue.make_command_buffer();
  held->encode_wait(event, 1);
  held->commit();
  auto second = queue.make_command_buffer();
  std::atomic<bool> got{false};
  std::thread third([&] {
    auto buffer = queue.make_command_buffer();
    got = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(got);
  event->signal(1);
  third.join();
  EXPECT_TRUE(got);
}

TEST(CommandQueueTest, RunsBesideAQueueThatWaits) {
  CommandQueue waiting;
  CommandQueue other;
  auto event = std::make_shared<SharedEvent>();
  auto blocked = waiting.make_command_buffer();
  blocked->encode_wait(event, 3);
  blocked->commit();
  for (int i = 0; i < 50; ++i) {
    auto buffer = with_work(other, [] {});
    buffer->commit();
    buffer->wait_until_completed();
  }
  EXPECT_NE(blocked->status(), Status::kCompleted);
  auto signals = other.make_command_buffer();
  signals->encode_signal(event, 3);
  signals->commit();
  blocked->wait_until_completed();
}

TEST(CommandQueueTest, MayGoBeforeItsBuffers) {
  std::atomic<int> ran{0};
  std::shared_ptr<CommandBuffer> last;
  {
    CommandQueue queue;
    for (int i = 0; i < 10; ++i) {
      last = with_work(queue, [&] { ++ran; });
      last->commit();
    }
  }
  last->wait_until_completed();
  EXPECT_EQ(ran, 10);
}

TEST(SharedEventTest, TellsListenersOnce) {
  SharedEvent event;
  std::vector<std::uint64_t> told;
  auto note = [&](std::uint64_t value) { told.push_back(value); };
  event.notify(2, note);
  event.notify(5, note);
  event.signal(1);
  EXPECT_TRUE(told.empty());
  event.signal(3);
  event.signal(2);
  EXPECT_EQ(event.signaled_value(), 3U);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{3}));
  event.notify(3, note);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{3, 3}));
  event.signal(9);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{3, 3, 9}));
}

TEST(SharedEventTest, TheHostWaitsAsLongAsItSaid) {
  SharedEvent event;
  EXPECT_FALSE(event.wait(1, std::chrono::milliseconds(1)));
  std::thread other([&] { event.signal(4); });
  EXPECT_TRUE(event.wait(4, std::chrono::nanoseconds::max()));
  other.join();
}

TEST(QueueForkTest, AChildHasTheQueueWithoutWhatWasInFlight) {
  CommandQueue queue;
  auto event = std::make_shared<SharedEvent>();
  std::atomic<int> ran{0};
  auto in_flight = queue.make_command_buffer();
  in_flight->encode_wait(event, 1);
  in_flight->make_encoder().encode([&] { ++ran; });
  in_flight->commit();
  queue.run_until_idle();
  auto open = with_work(queue, [&] { ran += 10; });
  EXPECT_TRUE(holds_in_child([&] {
    if (in_flight->status() != Status::kError || text_of(in_flight->error()).find("forked") == std::string::npos)
      return false;
    in_flight->wait_until_completed();
    open->commit();
    open->wait_until_completed();
    auto more = with_work(queue, [&] { ran += 100; });
    more->commit();
    more->wait_until_completed();
    return ran == 110;
  }));
  event->signal(1);
  in_flight->wait_until_completed();
  EXPECT_EQ(ran, 1);
}

TEST(QueueForkTest, ForksWhileDeviceThreadsWork) {
  if (!kForksAmongBusyThreads) GTEST_SKIP() << "not under AddressSanitizer";
  CommandQueue queue;
  std::atomic<bool> stop{false};
  std::atomic<int> ran{0};
  std::thread encoder([&] {
    while (!stop) {
      auto buffer = with_work(queue, [&] { ++ran; });
      buffer->commit();
    }
    queue.run_until_idle();
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(holds_in_child([] {
      CommandQueue own;
      int done = 0;
      auto buffer = with_work(own, [&] { done = 1; });
      buffer->commit();
      buffer->wait_until_completed();
      return done == 1;
    }));
  }
  stop = true;
  encoder.join();
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace anymps::gpu::queue
