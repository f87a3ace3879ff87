#include "gpu/queue/fork_registry.h"

#include <pthread.h>

#include <mutex>
#include <set>

namespace anymps::gpu::queue {
namespace {

struct Registry {
  // Never destroyed: queues may outlive every static object.
  static Registry& instance() {
    static auto* const registry = new Registry;
    return *registry;
  }

  Registry() { ::pthread_atfork(&before, &in_parent, &in_child); }

  static void before() {
    Registry& registry = instance();
    registry.mutex.lock();
    for (ForkMember* each : registry.members) each->lock_before_fork();
  }
  static void in_parent() {
    Registry& registry = instance();
    for (ForkMember* each : registry.members) each->unlock_in_parent();
    registry.mutex.unlock();
  }
  static void in_child() {
    Registry& registry = instance();
    for (ForkMember* each : registry.members) each->unlock_in_child();
    registry.mutex.unlock();
  }

  std::mutex mutex;
  std::set<ForkMember*> members;
};

}  // namespace

void ForkMember::join() {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.members.insert(this);
}

void ForkMember::leave() {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.members.erase(this);
}

}  // namespace anymps::gpu::queue
