#include "metal/runtime/watched_run.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "metal/pipeline/kernel_error.h"

namespace anymps::metal::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSeldom = std::chrono::milliseconds(500);  // while nothing runs
constexpr auto kOften = std::chrono::milliseconds(100);
constexpr auto kAgain = std::chrono::milliseconds(5);  // until a run that is to end has ended
// From then on a run counts as long, and Ctrl-C is listened to.
constexpr auto kLong = std::chrono::milliseconds(200);

// Counts Ctrl-C.
std::atomic<std::uint32_t> interrupts = 0;
// Whether this process has the thread that watches.
std::atomic<bool> watching = false;

// A thread that runs kernels. Its runs are numbered, so that none is ended in the place of another.
struct Runner {
  std::atomic<std::uint64_t> run = 0;  // odd while one runs
  std::atomic<std::uint32_t> interrupts_before = 0;
  std::atomic<std::uint64_t> to_end = 0;  // a run's number
  std::atomic<Stop> why = Stop::kNone;
  // Of the watch:
  pid_t thread = 0;
  std::uint64_t seen = 0;
  Clock::time_point seen_since;

  Runner();
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
};

// Never destroyed: a thread may end after everything else.
struct Watch {
  std::mutex mutex;
  std::vector<Runner*> runners;
  struct sigaction before{};  // what has Ctrl-C when we do not

  static Watch& instance() {
    static auto* const watch = [] {
      auto* const made = new Watch;
      ::pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); }, [] { in_child(); });
      return made;
    }();
    return *watch;
  }

  void start() {
    const std::lock_guard lock(mutex);
    if (watching.load(std::memory_order_relaxed)) return;
    sigset_t all;
    sigset_t ours;
    ::sigfillset(&all);
    // Signals are for the threads that expect them.
    ::pthread_sigmask(SIG_SETMASK, &all, &ours);
    try {
      std::thread([this] { look_on(); }).detach();
      watching.store(true, std::memory_order_relaxed);
    } catch (const std::system_error&) {
      // The system gives no thread: runs are not ended, and the next one tries again.
    }
    ::pthread_sigmask(SIG_SETMASK, &ours, nullptr);
  }

 private:
  static void in_child();
  void look_on();
  bool look_at(Runner& runner);
  void listen();
};

thread_local Runner* runner_of_thread = nullptr;

Runner::Runner() {
  Watch& watch = Watch::instance();
  const std::lock_guard lock(watch.mutex);
  thread = static_cast<pid_t>(::syscall(SYS_gettid));
  watch.runners.push_back(this);
  runner_of_thread = this;
}

Runner::~Runner() {
  Watch& watch = Watch::instance();
  const std::lock_guard lock(watch.mutex);
  std::erase(watch.runners, this);
  runner_of_thread = nullptr;
}

// Of all threads, the one that forked is there. The next run starts another watch.
void Watch::in_child() {
  Watch& watch = instance();
  watch.runners.clear();
  watching.store(false, std::memory_order_relaxed);
  if (runner_of_thread != nullptr) {
    runner_of_thread->thread = static_cast<pid_t>(::syscall(SYS_gettid));
    watch.runners.push_back(runner_of_thread);
  }
  watch.mutex.unlock();
}

extern "C" void on_interrupt(int signal, siginfo_t* information, void* context) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  const struct sigaction& before = Watch::instance().before;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, information, context);
  } else {
    before.sa_handler(signal);
  }
}

// Not before a run is long: a program's own handlers stay as they are where nobody waits. Python sets its handler anew
// each time that a program does.
void Watch::listen() {
  struct sigaction now{};
  if (::sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool handled = (now.sa_flags & SA_SIGINFO) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  if (!handled || ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_interrupt)) return;
  before = now;
  struct sigaction own = now;
  own.sa_sigaction = on_interrupt;
  own.sa_flags |= SA_SIGINFO;
  ::sigaction(SIGINT, &own, nullptr);
}

// True where it waits for a run's end.
bool Watch::look_at(Runner& runner) {
  const std::uint64_t run = runner.run.load(std::memory_order_acquire);
  if (run % 2 == 0) return false;
  const Clock::time_point now = Clock::now();
  if (run != runner.seen) {
    runner.seen = run;
    runner.seen_since = now;
  }
  const Clock::duration lasted = now - runner.seen_since;
  if (lasted >= kLong) listen();
  Stop why = Stop::kNone;
  if (runner.interrupts_before.load(std::memory_order_relaxed) != interrupts.load(std::memory_order_relaxed)) {
    why = Stop::kInterrupted;
  } else if (const double limit = kernel_seconds();
             limit > 0 && std::chrono::duration<double>(lasted).count() >= limit) {
    why = Stop::kTimeLimit;
  }
  if (why == Stop::kNone) return false;
  runner.why.store(why, std::memory_order_relaxed);
  runner.to_end.store(run, std::memory_order_release);
  ::syscall(SYS_tgkill, ::getpid(), runner.thread, kStopSignal);
  return true;
}

void Watch::look_on() {
  for (;;) {
    bool runs = false;
    bool waits = false;
    {
      const std::lock_guard lock(mutex);
      for (Runner* runner : runners) {
        runs |= runner->run.load(std::memory_order_relaxed) % 2 == 1;
        waits |= look_at(*runner);
      }
    }
    std::this_thread::sleep_for(waits ? kAgain : runs ? kOften : kSeldom);
  }
}

}  // namespace

WatchedRun::WatchedRun() {
  kernel_seconds();  // throws here, where a caller hears of it, and not in the thread that watches
  static thread_local Runner runner;
  if (!watching.load(std::memory_order_relaxed)) [[unlikely]]
    Watch::instance().start();
  runner.interrupts_before.store(interrupts.load(std::memory_order_relaxed), std::memory_order_relaxed);
  runner.run.fetch_add(1, std::memory_order_release);
}

WatchedRun::~WatchedRun() { runner_of_thread->run.fetch_add(1, std::memory_order_release); }

Stop WatchedRun::stop() {
  const Runner* runner = runner_of_thread;
  if (runner == nullptr) return Stop::kNone;
  const std::uint64_t run = runner->run.load(std::memory_order_relaxed);
  const bool wanted = run % 2 == 1 && runner->to_end.load(std::memory_order_acquire) == run;
  return wanted ? runner->why.load(std::memory_order_relaxed) : Stop::kNone;
}

double kernel_seconds() {
  static const double seconds = [] {
    const char* text = std::getenv("ANYMPS_KERNEL_SECONDS");
    if (text == nullptr || *text == '\0') return 0.0;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != '\0' || !(value > 0)) {
      throw pipeline::KernelError(std::string("ANYMPS_KERNEL_SECONDS takes a number above 0, not ") + text);
    }
    return value;
  }();
  return seconds;
}

}  // namespace anymps::metal::runtime
