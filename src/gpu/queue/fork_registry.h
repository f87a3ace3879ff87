// What must be in one piece when the process forks: the locks of queues and events. Whoever forks takes all of them
// first, so that the child finds none held by a thread that it does not have.
#pragma once

namespace anymps::gpu::queue {

class ForkMember {
 public:
  ForkMember(const ForkMember&) = delete;
  ForkMember& operator=(const ForkMember&) = delete;

  virtual void lock_before_fork() = 0;
  virtual void unlock_in_parent() = 0;
  // Mends what threads of the parent were about to do, then unlocks.
  virtual void unlock_in_child() = 0;

 protected:
  ForkMember() = default;
  ~ForkMember() = default;

  // To be called at the end of the constructor and at the start of the destructor, with no lock held.
  void join();
  void leave();
};

}  // namespace anymps::gpu::queue
