#include "metal/sandbox/frames.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace anymps::metal::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

bool send_all(int socket, const void* data, std::size_t size, SendBy how) {
  const auto* at = static_cast<const std::byte*>(data);
  while (size != 0) {
    const ssize_t sent = how == SendBy::kSend ? ::send(socket, at, size, MSG_NOSIGNAL) : ::write(socket, at, size);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Waits until there is something to read. False when it is too late.
bool wait_for(int socket, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    constexpr std::int64_t kMostMilliseconds = 1 << 30;
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, kMostMilliseconds)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
}

Received receive_all(int socket, void* data, std::size_t size, const std::optional<Clock::time_point>& until) {
  auto* at = static_cast<std::byte*>(data);
  while (size != 0) {
    if (until && !wait_for(socket, *until)) return Received::kTooLate;
    const ssize_t got = ::read(socket, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::kEnd;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return Received::kFrame;
}

}  // namespace

bool send_frame(int socket, std::span<const std::byte> bytes, SendBy how) {
  const std::uint64_t size = bytes.size();
  return send_all(socket, &size, sizeof size, how) && send_all(socket, bytes.data(), bytes.size(), how);
}

Received receive_frame(int socket, std::vector<std::byte>& bytes, std::uint64_t most,
                       std::optional<Clock::time_point> until) {
  std::uint64_t size = 0;
  if (const Received got = receive_all(socket, &size, sizeof size, until); got != Received::kFrame) return got;
  if (size > most) return Received::kEnd;
  bytes.resize(size);
  return receive_all(socket, bytes.data(), bytes.size(), until);
}

}  // namespace anymps::metal::sandbox
