#include "lab/host/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

extern char** environ;

namespace anymps::lab::host {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Read by the signal handler, hence outside of any object.
std::atomic<pid_t> running_child{0};
std::atomic<bool> in_own_group{false};
std::atomic<bool> asked_to_stop{false};
static_assert(std::atomic<pid_t>::is_always_lock_free);

// A terminal signals the whole foreground group, the child too; forwarding would hit it twice, and Python takes a
// second Ctrl-C while it cleans up after the first.
bool came_from_terminal(int number, const siginfo_t& info) {
  if (number == SIGTERM) return false;
#ifdef __APPLE__
  return info.si_pid == 0;
#else
  return info.si_code == SI_KERNEL;
#endif
}

void forward(int number, siginfo_t* info, void*) {
  const int saved = errno;
  asked_to_stop.store(true);
  const pid_t child = running_child.load();
  if (child > 0 && in_own_group.load()) {
    ::kill(-child, number);
  } else if (child > 0 && !came_from_terminal(number, *info)) {
    ::kill(child, number);
  }
  errno = saved;
}

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kForwarded) sigaddset(&set, number);
  return set;
}

// Forwards signals for as long as it lives. They are held back while there is no child whose id can be trusted.
class SignalForwarding {
 public:
  SignalForwarding() {
    const sigset_t set = forwarded_set();
    ::pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
    asked_to_stop.store(false);
    struct sigaction action{};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kForwarded.size(); ++i) {
      ::sigaction(kForwarded[i], nullptr, &before_[i]);
      // What was ignored when we were started (nohup) stays ignored, here and in the child.
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kForwarded[i], &action, nullptr);
    }
  }
  ~SignalForwarding() {
    hold();
    for (std::size_t i = 0; i < kForwarded.size(); ++i) ::sigaction(kForwarded[i], &before_[i], nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  SignalForwarding(const SignalForwarding&) = delete;
  SignalForwarding& operator=(const SignalForwarding&) = delete;

  void deliver_to(pid_t child) {
    running_child.store(child);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  // What is still on its way was meant for the child; it must not end us before the child's result is told.
  void hold() {
    const sigset_t set = forwarded_set();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    running_child.store(0);
    sigset_t pending;
    while (::sigpending(&pending) == 0) {
      bool any = false;
      for (const int number : kForwarded) any = any || sigismember(&pending, number) == 1;
      if (!any) break;
      int taken = 0;
      ::sigwait(&set, &taken);
      asked_to_stop.store(true);
    }
  }
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  std::array<struct sigaction, kForwarded.size()> before_{};
  sigset_t mask_before_{};
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!added.contains(std::string(text.substr(0, text.find('='))))) merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
  }
}

// Waits without reaping, so that the id cannot pass to a stranger while a signal might still be sent to it.
void wait_until_ended(pid_t child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == child;
}

using Clock = std::chrono::steady_clock;

constexpr auto kEndPollInterval = std::chrono::milliseconds(20);
// For a program to clean up after it was asked to end.
constexpr auto kGrace = std::chrono::seconds(5);

// Whether the watch ended it.
bool watch_until_ended(pid_t child, const ChildWatch& watch) {
  bool by_watch = false;
  std::optional<Clock::time_point> asked;
  while (!has_ended(child)) {
    if (!asked && (asked_to_stop.load() || watch(child))) {
      by_watch = !asked_to_stop.load();
      if (by_watch) ::kill(-child, SIGTERM);
      asked = Clock::now();
    }
    if (asked && Clock::now() - *asked > kGrace) ::kill(-child, SIGKILL);
    std::this_thread::sleep_for(kEndPollInterval);
  }
  ::kill(-child, SIGKILL);  // what it left behind
  return by_watch;
}

int spawned(const ChildCommand& command, const posix_spawn_file_actions_t& actions, const SignalForwarding& forwarding,
            bool own_group, pid_t& child) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = merged_environment(command.environment);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(environment);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &forwarding.mask_before());
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

void reap(pid_t child, Clock::time_point start, ChildResult& result) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.interrupted = asked_to_stop.load();
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
}

void not_started(int error, ChildResult& result) {
  result.start_errno = error;
  result.start_error = std::strerror(error);
}

}  // namespace

int ChildResult::status() const {
  if (!start_error.empty()) return start_errno == ENOENT ? 127 : 126;
  return signal != 0 ? 128 + signal : exit_code;
}

ChildResult run_child(const ChildCommand& command, ChildOutput output) {
  ChildResult result;
  std::array<int, 2> pipe_ends = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == ChildOutput::kToError) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (output == ChildOutput::kCapture) {
    if (::pipe(pipe_ends.data()) != 0) {
      not_started(errno, result);
      posix_spawn_file_actions_destroy(&actions);
      return result;
    }
    for (const int end : pipe_ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  }

  SignalForwarding forwarding;
  const auto start = Clock::now();
  pid_t child = 0;
  const int error = spawned(command, actions, forwarding, false, child);
  posix_spawn_file_actions_destroy(&actions);
  if (pipe_ends[1] >= 0) ::close(pipe_ends[1]);
  if (error != 0) {
    if (pipe_ends[0] >= 0) ::close(pipe_ends[0]);
    not_started(error, result);
    return result;
  }

  forwarding.deliver_to(child);
  if (pipe_ends[0] >= 0) {
    result.output = read_to_end(pipe_ends[0]);
    ::close(pipe_ends[0]);
  }
  wait_until_ended(child);
  forwarding.hold();
  reap(child, start, result);
  return result;
}

ChildResult run_child_watched(const ChildCommand& command, const std::string& output_path, const ChildWatch& watch) {
  ChildResult result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);

  SignalForwarding forwarding;
  const auto start = Clock::now();
  pid_t child = 0;
  const int error = spawned(command, actions, forwarding, true, child);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    not_started(error, result);
    return result;
  }
  in_own_group.store(true);
  forwarding.deliver_to(child);
  result.ended_by_watch = watch_until_ended(child, watch);
  forwarding.hold();
  in_own_group.store(false);
  reap(child, start, result);
  return result;
}

}  // namespace anymps::lab::host
