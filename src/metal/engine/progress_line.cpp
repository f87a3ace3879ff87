#include "metal/engine/progress_line.h"

#include <unistd.h>

#include <string>
#include <string_view>

namespace anymps::metal::engine {
namespace {

constexpr ProgressLine::Clock::duration kSilence = std::chrono::seconds(2);
// Between two times that it is written.
constexpr ProgressLine::Clock::duration kOften = std::chrono::milliseconds(100);
constexpr std::string_view kErase = "\r\x1b[K";

}  // namespace

ProgressLine& ProgressLine::instance() {
  static ProgressLine line(STDERR_FILENO);
  return line;
}

void ProgressLine::begin(Clock::time_point now) {
  for (Count count = count_.load();;) {
    const bool first = count.begun == count.ended;
    if (first) since_.store(now.time_since_epoch().count());
    const Count next = first ? Count{.begun = 1} : Count{.begun = count.begun + 1, .ended = count.ended};
    if (count_.compare_exchange_weak(count, next)) return;
  }
}

void ProgressLine::end() {
  for (Count count = count_.load();;) {
    if (count_.compare_exchange_weak(count, {.begun = count.begun, .ended = count.ended + 1})) break;
  }
  erase_if_done();
}

void ProgressLine::show(Clock::time_point now) {
  const Clock::rep time = now.time_since_epoch().count();
  Clock::rep last = shown_.load();
  if (time - since_.load() < kSilence.count() || time - last < kOften.count() || isatty(descriptor_) == 0) return;
  if (!shown_.compare_exchange_strong(last, time)) return;
  const Count count = count_.load();
  std::string text(kErase);
  text += "anymps: compiling Metal kernels, ";
  text += std::to_string(count.ended) + " of " + std::to_string(count.begun);
  write(text);
  erase_if_done();  // the last may have ended meanwhile
}

void ProgressLine::erase_if_done() {
  const Count count = count_.load();
  if (count.begun == count.ended && shown_.exchange(0) != 0) write(kErase);
}

// A terminal that takes nothing is nobody's problem.
void ProgressLine::write(std::string_view text) const {
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, text.data(), text.size());
}

}  // namespace anymps::metal::engine
