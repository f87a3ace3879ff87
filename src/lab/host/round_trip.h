// How far away a host is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anymps::lab::host {

struct HostAndPort {
  std::string host;
  std::string port;

  // "store", "store:443", "user@store", "[fe80::1]:22". Port 22 where none is named.
  static HostAndPort parse(std::string_view text);
};

struct RoundTrip {
  std::optional<double> seconds;
  std::string error;  // why there is no time
};

// The time to make a TCP connection, the best of three, waiting a second for each at most. Names are looked up before.
RoundTrip round_trip(const HostAndPort& target);

}  // namespace anymps::lab::host
