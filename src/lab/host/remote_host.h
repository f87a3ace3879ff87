// Another host, by OpenSSH's own client: one connection that all commands share.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace anymps::lab::host {

// A host that cannot be reached, or a command that fails there, with the last lines of what it said.
struct RemoteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RemoteHost {
 public:
  // `ssh` is the client with its options, such as {"ssh", "-p", "2222"}; it asks for no password. Throws RemoteError
  // where the host does not answer.
  RemoteHost(std::vector<std::string> ssh, std::string host);
  ~RemoteHost();
  RemoteHost(const RemoteHost&) = delete;
  RemoteHost& operator=(const RemoteHost&) = delete;

  const std::string& name() const { return host_; }

  // Runs a line of that host's shell, with the file as its input, and returns what it writes to standard output. Throws
  // RemoteError where it fails; `what` says what was tried. Throws Interrupted.
  std::string run(const std::string& line, const std::string& what, const std::filesystem::path& input = "/dev/null");
  std::string run_with(const std::string& line, const std::string& what, const std::string& input);

  // The time for a byte to that host and back through the connection, the median of several, in seconds.
  double round_trip_seconds();

 private:
  std::vector<std::string> words(const std::string& line) const;

  std::vector<std::string> ssh_;
  std::string host_;
  std::filesystem::path folder_;  // of the connection's socket
};

}  // namespace anymps::lab::host
