#include "lab/base/safe_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "lab/base/terminal.h"

namespace anymps::lab::base {
namespace {

constexpr std::string_view kEscape = "\x1b[";
constexpr std::array kOwnColours = {std::string_view("0"), kBold, kDim, kRed, kGreen, kYellow};

// How long a colour of ours is that the text begins with; 0 where it begins with none.
std::size_t own_colour(std::string_view text) {
  if (!text.starts_with(kEscape)) return 0;
  const std::size_t end = text.find('m');
  if (end == std::string_view::npos) return 0;
  const std::string_view code = text.substr(kEscape.size(), end - kEscape.size());
  return std::ranges::find(kOwnColours, code) == kOwnColours.end() ? 0 : end + 1;
}

// How many bytes a control character of Unicode has that the text begins with: U+0080 to U+009F, and those that turn
// the direction of writing, U+202A to U+202E and U+2066 to U+2069. 0 where it begins with none.
std::size_t unicode_control(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U; };
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;
  const bool embeds = byte(0) == 0xe2 && byte(1) == 0x80 && byte(2) >= 0xaa && byte(2) <= 0xae;
  const bool isolates = byte(0) == 0xe2 && byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
  return embeds || isolates ? 3 : 0;
}

bool is_ascii_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// A control character whole, or one byte.
std::size_t next_character(std::string_view text) { return std::max<std::size_t>(unicode_control(text), 1); }

void append_safely(std::string& safe, std::string_view character, std::string_view allowed) {
  const bool is_control = character.size() > 1 || is_ascii_control(character.front());
  if (is_control && allowed.find(character) == std::string_view::npos) {
    safe += '?';
  } else {
    safe += character;
  }
}

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t colour = own_colour(text);
    const std::size_t taken = colour > 0 ? colour : next_character(text);
    if (colour > 0) {
      safe += text.substr(0, taken);
    } else {
      append_safely(safe, text.substr(0, taken), "\n\t");
    }
    text.remove_prefix(taken);
  }
  return safe;
}

std::string on_one_line(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t taken = next_character(text);
    append_safely(safe, text.substr(0, taken), "\t");
    text.remove_prefix(taken);
  }
  return safe;
}

void print_screen(std::FILE* stream, std::string_view screen) { print_text(stream, for_terminal(screen)); }

void print_text(std::FILE* stream, std::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

std::string csv_cell(std::string_view text) {
  std::string cell(text);
  if (!cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos && !is_number(cell)) {
    cell.insert(cell.begin(), '\'');
  }
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace anymps::lab::base
