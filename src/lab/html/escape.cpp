#include "lab/html/escape.h"

#include <nlohmann/json.hpp>

#include "lab/base/json_text.h"

namespace anymps::lab::html {
namespace {

std::string valid_utf8(std::string_view text) {
  using nlohmann::json;
  return json::parse(base::json_line(text)).get<std::string>();
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\t':
      case '\n':
        result += c;
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return result;
}

}  // namespace anymps::lab::html
