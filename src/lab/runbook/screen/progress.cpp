#include "lab/runbook/screen/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lab/base/safe_text.h"
#include "lab/base/text_wrap.h"

namespace anymps::lab::runbook::screen {
namespace {

constexpr auto kFrame = std::chrono::milliseconds(100);
constexpr auto kLine = std::chrono::seconds(15);
constexpr std::size_t kProgressBarWidth = 24;

std::string progress_bar(double share) {
  const auto full = static_cast<std::size_t>(std::lround(share * kProgressBarWidth));
  std::string bar;
  for (std::size_t i = 0; i < kProgressBarWidth; ++i) bar += i < full ? "█" : "░";
  return bar;
}

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string rough_time(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(std::string title, bool shown)
    : title_(std::move(title)),
      shown_(shown),
      live_(::isatty(STDERR_FILENO) == 1),
      terminal_(base::Terminal::behind(STDERR_FILENO)) {}

void Progress::at(double share, std::string_view detail) {
  share = std::clamp(share, 0.0, 1.0);
  if (share_at_begin_ < 0) share_at_begin_ = share;
  if (!shown_) return;
  const auto now = Clock::now();
  if (now - drawn_ < (live_ ? Clock::duration(kFrame) : Clock::duration(kLine))) return;
  drawn_ = now;
  const std::string what = base::on_one_line(detail);  // often the name of a file
  const double gone = std::chrono::duration<double>(now - began_).count();
  const double gained = share - share_at_begin_;
  // What is left at the pace so far; the first moments tell nothing.
  const std::string left =
      gained > 0.02 && gone > 1 ? fmt::format("  {} left", rough_time(gone / gained * (1 - share))) : "";
  if (!live_) {
    put(fmt::format("anymps: {} {:.0f}%  {}{}\n", title_, 100 * share, what, left));
    return;
  }
  std::string line = fmt::format("{} {} {:3.0f}%{}  {}", title_, progress_bar(share), 100 * share, left, what);
  while (base::length_of(line) >= terminal_.width) line.pop_back();
  put("\r" + line + "\x1b[K");
  visible_ = true;
}

void Progress::clear() {
  if (visible_) put("\r\x1b[K");
  visible_ = false;
}

}  // namespace anymps::lab::runbook::screen
