#include "lab/host/round_trip.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace anymps::lab::host {
namespace {

constexpr int kAttempts = 3;
constexpr int kConnectPatienceMs = 1000;

class Socket {
 public:
  explicit Socket(const addrinfo& address)
      : file_(::socket(address.ai_family, address.ai_socktype, address.ai_protocol)) {}
  ~Socket() {
    if (file_ >= 0) ::close(file_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int file() const { return file_; }

 private:
  int file_;
};

// 0, or the error that kept it from being made.
int connect_within(const addrinfo& address, int patience_ms) {
  const Socket socket(address);
  if (socket.file() < 0) return errno;
  ::fcntl(socket.file(), F_SETFL, O_NONBLOCK);
  if (::connect(socket.file(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{socket.file(), POLLOUT, 0};
  const int ready = ::poll(&waiting, 1, patience_ms);
  if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

HostAndPort HostAndPort::parse(std::string_view text) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) text.remove_prefix(at + 1);
  HostAndPort target{"", "22"};
  if (text.starts_with('[') && text.find(']') != std::string_view::npos) {
    const std::size_t end = text.find(']');
    target.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (text.size() > 1 && text.front() == ':') target.port = text.substr(1);
    return target;
  }
  const std::size_t colon = text.find(':');
  // More than one colon without brackets: an address of IPv6.
  const bool has_port = colon != std::string_view::npos && colon == text.rfind(':') && colon + 1 < text.size();
  target.host = has_port ? text.substr(0, colon) : text;
  if (has_port) target.port = text.substr(colon + 1);
  return target;
}

RoundTrip round_trip(const HostAndPort& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found); error != 0) {
    return {std::nullopt, ::gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  RoundTrip trip;
  for (const addrinfo* address = addresses.get(); address != nullptr && !trip.seconds; address = address->ai_next) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const auto begin = std::chrono::steady_clock::now();
      if (const int error = connect_within(*address, kConnectPatienceMs); error != 0) {
        trip.error = std::strerror(error);
        break;  // it will not be there the next time
      }
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      trip.seconds = std::min(trip.seconds.value_or(seconds), seconds);
    }
  }
  if (trip.seconds) trip.error.clear();
  return trip;
}

}  // namespace anymps::lab::host
