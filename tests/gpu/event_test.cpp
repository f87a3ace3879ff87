#include "gpu/event.h"

#include <gtest/gtest.h>

namespace anymps::gpu {
namespace {

TEST(Event, IsUnknownBeforeItIsAcquiredAndAfterItIsReleased) {
  EventPool pool;
  Event event;
  EXPECT_FALSE(pool.lookup(1, event));
  const EventId id = pool.acquire(false);
  EXPECT_TRUE(pool.lookup(id, event));
  EXPECT_TRUE(pool.release(id));
  EXPECT_FALSE(pool.release(id));
  EXPECT_EQ(pool.record(id), 0U);
}

TEST(Event, IsReachedWhenTheDeviceSaysSo) {
  EventPool pool;
  const EventId id = pool.acquire(true);
  Event event;
  pool.lookup(id, event);
  EXPECT_FALSE(event.reached);
  const std::uint64_t recording = pool.record(id);
  pool.lookup(id, event);
  EXPECT_FALSE(event.reached);
  pool.reach(id, recording);
  pool.lookup(id, event);
  EXPECT_TRUE(event.reached);
  EXPECT_GT(event.completed_at, 0U);
}

TEST(Event, HasNoTimeUnlessAskedFor) {
  EventPool pool;
  const EventId id = pool.acquire(false);
  pool.reach(id, pool.record(id));
  Event event;
  pool.lookup(id, event);
  EXPECT_EQ(event.completed_at, 0U);
}

TEST(Event, ANumberThatIsUsedAgainStartsAfresh) {
  EventPool pool;
  const EventId id = pool.acquire(true);
  const std::uint64_t recording = pool.record(id);
  pool.release(id);
  EXPECT_EQ(pool.acquire(true), id);
  pool.reach(id, recording);
  Event event;
  pool.lookup(id, event);
  EXPECT_FALSE(event.reached);
}

TEST(Event, ARecordingThatWasFollowedByAnotherReachesNothing) {
  EventPool pool;
  const EventId id = pool.acquire(true);
  const std::uint64_t first = pool.record(id);
  const std::uint64_t second = pool.record(id);
  Event event;
  pool.reach(id, first);
  pool.lookup(id, event);
  EXPECT_FALSE(event.reached);
  pool.reach(id, second);
  pool.lookup(id, event);
  EXPECT_TRUE(event.reached);
}

}  // namespace
}  // namespace anymps::gpu
