#include "lab/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "gpu/support/whole_number.h"

namespace anymps::lab::base {
namespace {

constexpr std::size_t kFewestColumns = 40;
constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kLeastRoom = 10;

std::string_view terminal_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<std::size_t> columns_asked_for() {
  const auto columns = gpu::support::whole_number<std::size_t>(terminal_variable("COLUMNS"));
  return columns && *columns >= kFewestColumns && *columns <= kMostColumns ? columns : std::nullopt;
}

// Nothing for what is no terminal, or one that does not know.
std::optional<std::size_t> columns_of(int file_descriptor) {
  winsize size{};
  if (::ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace

std::string Terminal::paint(std::string_view code, std::string_view text) const {
  if (!colour || code.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::size_t Terminal::room(std::size_t taken) const {
  if (endless) return std::numeric_limits<std::size_t>::max();
  const std::size_t columns = std::max(width, kFewestColumns);
  return std::max(kLeastRoom, columns - std::min(taken, columns));
}

Terminal Terminal::behind(int file_descriptor) {
  Terminal terminal;
  const bool on_terminal = ::isatty(file_descriptor) == 1;
  const auto asked_for = columns_asked_for();
  terminal.width = asked_for.value_or(columns_of(file_descriptor).value_or(terminal.width));
  terminal.endless = !on_terminal && !asked_for;
  terminal.colour = on_terminal && terminal_variable("NO_COLOR").empty() && terminal_variable("TERM") != "dumb";
  return terminal;
}

}  // namespace anymps::lab::base
