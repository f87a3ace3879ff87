#include "metal/sandbox/box.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "gpu/support/confine.h"
#include "gpu/support/round_up.h"
#include "metal/pipeline/kernel_error.h"
#include "metal/sandbox/frames.h"

extern char** environ;

namespace anymps::metal::sandbox {
namespace {

using pipeline::KernelError;

constexpr const char* kProgram = "anymps-sandbox";
constexpr const char* kLibrary = "libanymps_metal.so";
constexpr std::chrono::seconds kMostStarting{60};
constexpr std::size_t kMemoryStep = std::size_t{1} << 20U;
constexpr int kAboveTheChilds = 10;  // descriptors that are none of those that the child gets

// Numbers of children; one that is forked goes on from here, so that none of its own is one of its parent's.
std::atomic<std::uint64_t> last_number{0};

// Of the child that there is; outside of any object, for a process that is forked.
std::atomic<int> box_socket{-1};
std::atomic<int> box_memory{-1};
std::atomic<int> box_messages{-1};

void close_box() {
  for (std::atomic<int>* descriptor : {&box_socket, &box_memory, &box_messages}) {
    if (const int open = descriptor->exchange(-1); open >= 0) ::close(open);
  }
}

std::filesystem::path& told_folder() {
  static auto* const folder = new std::filesystem::path;
  return *folder;
}

std::filesystem::path box_folder() {
  if (!told_folder().empty()) return told_folder();
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&close_box), &here) == 0) return {};
  return std::filesystem::path(here.dli_fname).parent_path();
}

// Nothing of the user's that kernels could read: only what steers anymps, the loader and sanitizers.
std::vector<char*> box_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("ANYMPS_") || name.starts_with("LD_") || name.ends_with("SAN_OPTIONS")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

// A number that the child's own cannot be; closed where a program is started.
int raised(int descriptor) {
  if (descriptor < 0) return -1;
  const int above = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kAboveTheChilds);
  ::close(descriptor);
  return above;
}

struct Ends {
  int ours = -1;
  int theirs = -1;
};

Ends raised(const std::array<int, 2>& pair) { return {.ours = raised(pair[0]), .theirs = raised(pair[1])}; }

int start_program(const std::filesystem::path& folder, int socket, int memory, int messages, pid_t& child) {
  std::string program = (folder / kProgram).string();
  std::string library = (folder / kLibrary).string();
  const std::array<char*, 3> words = {program.data(), library.data(), nullptr};
  const std::vector<char*> environment = box_environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, messages, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, kSocket);
  posix_spawn_file_actions_adddup2(&actions, memory, kMemory);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, words.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// What it says may be anything.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c != '\n' && c != '\t' && std::iscntrl(static_cast<unsigned char>(c)) != 0; }, '?');
  return text;
}

}  // namespace

void set_box_folder(std::filesystem::path folder) { told_folder() = std::move(folder); }

Box& Box::of_process() {
  static std::atomic<Box*> slot{nullptr};
  // A fork has the parent's descriptors; as long as it did, the child would not see that its parent is gone.
  [[maybe_unused]] static const int handler = ::pthread_atfork(nullptr, nullptr, &close_box);
  return gpu::support::of_this_generation(slot, [] { return new Box; });
}

bool Box::has_ended() {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child_;
}

std::uint64_t Box::start(const std::string& kernel) {
  // By a Ctrl-C that was not meant for it, say.
  if (child_ > 0 && has_ended()) end();
  if (child_ < 0) spawn(kernel);
  return number_;
}

void Box::spawn(const std::string& kernel) {
  const std::string failed = kernel + ": ANYMPS_SANDBOX asks for a sandbox, and there can be none: ";
  if (const std::string why = gpu::support::why_not_confined(); !why.empty()) throw KernelError(failed + why);
  const std::filesystem::path folder = box_folder();
  std::array<int, 2> pair = {-1, -1};
  std::array<int, 2> pipe = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0 ||
      ::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    const std::string why = std::strerror(errno);
    for (const int end : pair) ::close(end);
    throw KernelError(failed + why);
  }
  const Ends socket = raised(pair);
  const Ends messages = raised(pipe);
  const int memory = raised(::memfd_create(kProgram, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Nobody takes pages away that this process has mapped.
  ::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK);
  const int error = start_program(folder, socket.theirs, memory, messages.theirs, child_);
  ::close(socket.theirs);
  ::close(messages.theirs);
  box_socket = socket.ours;
  box_messages = messages.ours;
  box_memory = memory;
  if (error != 0) {
    child_ = -1;
    close_box();
    throw KernelError(failed + (folder / kProgram).string() + ": " + std::strerror(error));
  }
  {
    const std::lock_guard lock(dropped_mutex_);
    number_ = ++last_number;
  }
  std::vector<std::byte> ready;
  const Received got =
      receive_frame(box_socket, ready, kMostAnswerBytes, std::chrono::steady_clock::now() + kMostStarting);
  if (got != Received::kFrame) {
    std::string why = last_words();
    const int status = end();
    if (why.empty()) why = got == Received::kTooLate ? "it does not answer" : "it ended by " + how_it_ended(status);
    throw KernelError(failed + why);
  }
}

std::span<std::byte> Box::memory(std::size_t bytes, const std::string& kernel) {
  if (bytes <= memory_bytes_) return {memory_, memory_bytes_};
  const std::size_t size = gpu::support::round_up(bytes, kMemoryStep);
  void* mapped = MAP_FAILED;
  if (::ftruncate(box_memory, static_cast<off_t>(size)) == 0) {
    mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, box_memory, 0);
  }
  if (mapped == MAP_FAILED) {
    throw KernelError(kernel + ": there is no memory of " + std::to_string(size) + " bytes to share with its sandbox");
  }
  if (memory_ != nullptr) ::munmap(memory_, memory_bytes_);
  memory_ = static_cast<std::byte*>(mapped);
  memory_bytes_ = size;
  return {memory_, memory_bytes_};
}

Answer Box::ask(Request request, const Errand& errand) {
  {
    const std::lock_guard lock(dropped_mutex_);
    request.dropped = std::exchange(dropped_, {});
  }
  const std::string kernel = "kernel '" + errand.kernel + "' ";
  std::vector<std::byte> bytes;
  Received got = Received::kEnd;
  if (send_frame(box_socket, pack(request), SendBy::kSend)) {
    got = receive_frame(box_socket, bytes, kMostAnswerBytes, std::chrono::steady_clock::now() + errand.most);
  }
  if (got == Received::kTooLate) {
    end();
    const std::string variable =
        *errand.variable == '\0' ? "" : " (" + std::string(errand.variable) + " sets the limit)";
    throw KernelError(kernel + errand.doing + " for more than " + std::to_string(errand.most.count()) +
                      " s in the sandbox, and was ended" + variable);
  }
  const auto answer = got == Received::kFrame ? unpack_answer(bytes) : std::nullopt;
  if (!answer) {
    const std::string words = last_words();
    const int status = end();
    if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
      throw KernelError(kernel + "was interrupted in the sandbox");
    }
    throw KernelError(kernel + "crashed in the sandbox: " + how_it_ended(status) + (words.empty() ? "" : ": " + words));
  }
  if (!answer->refusal.empty()) throw KernelError(printable(answer->refusal));
  return *answer;
}

void Box::drop(std::uint64_t child, std::uint64_t pipeline) {
  const std::lock_guard lock(dropped_mutex_);
  if (child == number_) dropped_.push_back(pipeline);
}

int Box::end() {
  int status = -1;
  // Where its end of the socket is closed and it lives on, it has been taken over.
  ::kill(child_, SIGKILL);
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(child_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped < 0) status = -1;  // somebody else has asked
  child_ = -1;
  close_box();
  if (memory_ != nullptr) ::munmap(memory_, memory_bytes_);
  memory_ = nullptr;
  memory_bytes_ = 0;
  const std::lock_guard lock(dropped_mutex_);
  number_ = 0;
  dropped_.clear();
  return status;
}

std::string Box::how_it_ended(int status) {
  if (status != -1 && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  if (status != -1 && WIFEXITED(status)) return "status " + std::to_string(WEXITSTATUS(status));
  return "its process is gone";
}

// The last line that it wrote, such as where a kernel reached to.
std::string Box::last_words() {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(box_messages, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > (std::size_t{1} << 20U)) break;
  }
  while (text.ends_with('\n')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  if (constexpr std::string_view kOurs = "anymps: error: "; text.starts_with(kOurs)) text.erase(0, kOurs.size());
  return printable(text.substr(0, 500));
}

}  // namespace anymps::metal::sandbox
