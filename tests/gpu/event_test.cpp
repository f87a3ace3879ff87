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
  EXPECT_FALSE(pool.record(id));
}

TEST(Event, IsReachedOnceRecorded) {
  EventPool pool;
  const EventId id = pool.acquire(true);
  Event event;
  pool.lookup(id, event);
  EXPECT_FALSE(event.recorded);
  pool.record(id);
  pool.lookup(id, event);
  EXPECT_TRUE(event.recorded);
  EXPECT_GT(event.completed_at, 0U);
}

TEST(Event, HasNoTimeUnlessAskedFor) {
  EventPool pool;
  const EventId id = pool.acquire(false);
  pool.record(id);
  Event event;
  pool.lookup(id, event);
  EXPECT_EQ(event.completed_at, 0U);
}

TEST(Event, ANumberThatIsUsedAgainStartsAfresh) {
  EventPool pool;
  const EventId id = pool.acquire(true);
  pool.record(id);
  pool.release(id);
  EXPECT_EQ(pool.acquire(true), id);
  Event event;
  pool.lookup(id, event);
  EXPECT_FALSE(event.recorded);
}

}  // namespace
}  // namespace anymps::gpu
