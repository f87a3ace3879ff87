#include "lab/base/text_wrap.h"

#include <algorithm>

namespace anymps::lab::base {

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > width - indent.size()) {
      result += "\n" + std::string(indent);
      column = 0;
    }
    if (column > 0) result += " ";
    result += word;
    column += word.size() + (column > 0 ? 1 : 0);
  }
  return result + "\n";
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view indent, const Terminal& terminal) {
  const std::size_t room = terminal.room(indent.size());
  std::string words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words += keep_ends(text.substr(0, end), room);
    if (end < text.size()) words += ' ';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped(words, width, indent);
}

std::string fitted(std::string_view text, std::string_view indent, const Terminal& terminal) {
  if (length_of(text) <= terminal.room(indent.size())) return std::string(text) + "\n";
  return wrapped(text, terminal.room(), indent, terminal);
}

std::string fitted_line(std::string_view indent, std::string_view text, const Terminal& terminal) {
  return std::string(indent) + fitted(text, indent, terminal);
}

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string keep_start(std::string_view text, std::size_t width) {
  std::size_t length = length_of(text);
  if (length <= width) return std::string(text);
  while (length >= width && !text.empty()) {
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.remove_suffix(1);
    text.remove_suffix(1);
    --length;
  }
  return std::string(text) + "…";
}

std::string keep_end(std::string_view text, std::size_t width) {
  std::size_t length = length_of(text);
  if (length <= width) return std::string(text);
  while (length >= width && !text.empty()) {
    do {
      text.remove_prefix(1);
    } while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80);
    --length;
  }
  return "…" + std::string(text);
}

std::string keep_ends(std::string_view text, std::size_t width) {
  if (length_of(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t kept = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && kept++ == width / 2) break;
  }
  return std::string(text.substr(0, end)) + keep_end(text.substr(end), width - width / 2);
}

}  // namespace anymps::lab::base
