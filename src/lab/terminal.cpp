#include "lab/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace anymps::lab {
namespace {

std::string_view terminal_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string Terminal::paint(std::string_view code, std::string_view text) const {
  if (!colour || code.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

Terminal Terminal::behind(int file_descriptor) {
  Terminal terminal;
  if (::isatty(file_descriptor) != 1) return terminal;
  winsize size{};
  if (::ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  terminal.colour = terminal_variable("NO_COLOR").empty() && terminal_variable("TERM") != "dumb";
  return terminal;
}

}  // namespace anymps::lab
