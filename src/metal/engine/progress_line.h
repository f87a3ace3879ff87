// A line on the terminal while somebody waits long for kernels to be compiled.
//
// It is there once that has taken two seconds, where standard error is a terminal, and gone when nothing is left to
// compile; elsewhere nothing is written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace anymps::metal::engine {

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  // The one of standard error, for all libraries of the process.
  static ProgressLine& instance();

  // For the terminal behind this descriptor.
  explicit ProgressLine(int descriptor) : descriptor_(descriptor) {}

  // A kernel that is to be compiled, and one that is.
  void begin(Clock::time_point now = Clock::now());
  void end();
  // Says how far it is. For who waits, from time to time.
  void show(Clock::time_point now = Clock::now());

 private:
  struct Count {
    std::uint32_t begun = 0;
    std::uint32_t ended = 0;
  };

  void erase_if_done();
  void write(std::string_view text) const;

  // No lock, which another thread might hold when the process forks.
  const int descriptor_;
  std::atomic<Count> count_;
  std::atomic<Clock::rep> since_ = 0;
  std::atomic<Clock::rep> shown_ = 0;  // 0: not
};

}  // namespace anymps::metal::engine
