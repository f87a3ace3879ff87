#include "lab/text_wrap.h"

#include <algorithm>

namespace anymps::lab {

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

}  // namespace anymps::lab
