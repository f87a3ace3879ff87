#include "lab/host/remote_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "gpu/support/whole_file.h"
#include "lab/base/file_text.h"
#include "lab/host/child.h"
#include "lab/host/quiet_child.h"

extern char** environ;

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

constexpr int kPings = 15;
constexpr int kPingTimeoutMs = 10'000;
constexpr std::size_t kLastLines = 8;

// The end of what was said, on one line, without what would move a cursor.
std::string last_lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      if (!lines.back().empty()) lines.emplace_back();
    } else {
      lines.back() += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  if (lines.back().empty()) lines.pop_back();
  if (lines.size() > kLastLines) lines.erase(lines.begin(), lines.end() - kLastLines);
  return fmt::format("{}", fmt::join(lines, " | "));
}

// A child whose input and output are ours.
class Conversation {
 public:
  explicit Conversation(std::vector<std::string> words) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe(to.data()) != 0 || ::pipe(from.data()) != 0) throw RemoteError("no pipe for ssh");
    for (const int end : {to[0], to[1], from[0], from[1]}) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int error = ::posix_spawnp(&child_, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    output_ = from[0];
    if (error != 0) child_ = -1;
    // A connection that breaks is seen where it is written to.
    before_ = ::signal(SIGPIPE, SIG_IGN);
  }
  ~Conversation() {
    ::close(input_);
    ::close(output_);
    int status = 0;
    while (child_ > 0 && ::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    ::signal(SIGPIPE, before_);
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Sends a byte and waits for it to come back.
  bool echo() {
    char byte = 'x';
    pollfd waiting{output_, POLLIN, 0};
    return ::write(input_, &byte, 1) == 1 && ::poll(&waiting, 1, kPingTimeoutMs) == 1 && ::read(output_, &byte, 1) == 1;
  }

 private:
  pid_t child_ = -1;
  int input_ = -1;
  int output_ = -1;
  void (*before_)(int) = SIG_DFL;
};

}  // namespace

RemoteHost::RemoteHost(std::vector<std::string> ssh, std::string host) : ssh_(std::move(ssh)), host_(std::move(host)) {
  // Else it would be an option of ssh's, among which are some that run programs here.
  if (host_.empty() || host_.front() == '-') throw RemoteError(fmt::format("`{}` is no host", host_));
  // Not below $TMPDIR: the path of a socket has a hundred characters at most.
  std::string pattern = "/tmp/anymps-ssh-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw RemoteError(fmt::format("{}: {}", pattern, std::strerror(errno)));
  folder_ = pattern;
  for (const char* option :
       {"BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=15", "ControlMaster=auto", "ControlPersist=60"}) {
    ssh_.insert(ssh_.end(), {"-o", option});
  }
  ssh_.insert(ssh_.end(), {"-o", fmt::format("ControlPath={}/socket", folder_.string())});
  try {
    run("true", "it cannot be reached");
  } catch (...) {
    fs::remove_all(folder_);
    throw;
  }
}

RemoteHost::~RemoteHost() {
  std::vector<std::string> words = ssh_;
  words.insert(words.end(), {"-O", "exit", "--", host_});
  try {
    quiet_output(words);
  } catch (const Interrupted&) {
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> RemoteHost::words(const std::string& line) const {
  std::vector<std::string> all = ssh_;
  all.insert(all.end(), {"--", host_, line});
  return all;
}

std::string RemoteHost::run(const std::string& line, const std::string& what, const fs::path& input) {
  const fs::path said = folder_ / "said";
  ChildCommand command{
      {"sh", "-c", R"(in=$1 said=$2; shift 2; exec "$@" <"$in" 2>"$said")", "sh", input.string(), said.string()}, {}};
  for (std::string& word : words(line)) command.words.push_back(std::move(word));
  ChildResult result = run_child(command, ChildOutput::kCapture);
  if (result.interrupted) throw Interrupted();
  if (result.status() != 0) {
    const std::string last = last_lines(base::file_text(said) + "\n" + result.output);
    throw RemoteError(
        fmt::format("{}: {} (status {}){}", host_, what, result.status(), last.empty() ? "" : "; it said: " + last));
  }
  return std::move(result.output);
}

std::string RemoteHost::run_with(const std::string& line, const std::string& what, const std::string& input) {
  const fs::path file = folder_ / "input";
  gpu::support::write_whole(file, input);
  return run(line, what, file);
}

double RemoteHost::round_trip_seconds() {
  Conversation cat(words("cat"));
  std::vector<double> seconds;
  // The first ones open the channel.
  for (int i = -3; i < kPings; ++i) {
    const auto began = std::chrono::steady_clock::now();
    if (!cat.echo()) throw RemoteError(fmt::format("{}: the connection broke off", host_));
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (i >= 0) seconds.push_back(took);
  }
  std::ranges::nth_element(seconds, seconds.begin() + kPings / 2);
  return seconds[kPings / 2];
}

}  // namespace anymps::lab::host
