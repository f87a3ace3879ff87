#include "lab/runbook/handoff/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestPath = 1024;
constexpr std::size_t kLongestName = 255;

// The next character of UTF-8 at `at`, which is moved past it; nothing where the bytes are none.
std::optional<char32_t> next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || at + length > text.size()) return std::nullopt;
  char32_t character = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return std::nullopt;
    character = character << 6U | (byte(at + i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (character < kLeast[length] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
    return std::nullopt;
  }
  at += length;
  return character;
}

// Characters that nobody sees: two names that differ in them look the same, and some file systems drop them.
bool is_invisible(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0xad ||
         (character >= 0x200b && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
         (character >= 0x2060 && character <= 0x206f) || character == 0xfeff ||
         (character >= 0xe0000 && character <= 0xe0fff);
}

std::optional<std::string> name_fault(std::string_view name) {
  if (name.empty()) return "has an empty part";
  if (name == "." || name == "..") return fmt::format("has `{}` in it", name);
  if (name.size() > kLongestName) return "has a part that is too long";
  // Windows drops them, and with it every share that it serves.
  if (name.back() == '.' || name.back() == ' ') return "has a part that ends with a dot or a space";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> path_fault(std::string_view path) {
  const auto fault = [&](std::string_view text) { return fmt::format("the path {} {}", shown_path(path), text); };
  if (path.empty()) return "a path is empty";
  if (path.size() > kLongestPath) return fault("is too long");
  if (path.front() == '/') return fault("is absolute");
  if (path.find_first_of("\\:") != std::string_view::npos) return fault("has a backslash or a colon in it");
  for (std::size_t at = 0; at < path.size();) {
    const auto character = next_character(path, at);
    if (!character) return fault("is no UTF-8");
    if (is_invisible(*character)) return fault("has a character in it that cannot be seen");
  }
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (const auto bad = name_fault(path.substr(begin, end - begin))) return fault(*bad);
    begin = end + 1;
  }
  return std::nullopt;
}

std::string shown_path(std::string_view path) {
  return json(path.substr(0, 200)).dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string folded(std::string_view path) {
  std::string same(path);
  for (char& c : same) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return same;
}

std::string bundle_text(const json& document) {
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace anymps::lab::runbook::handoff
