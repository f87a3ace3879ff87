#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <string>

#include "metal/frontend/limits.h"

namespace anymps::metal::frontend {
namespace {

// The line of the first #if or #elif whose condition is too long, or 0.
std::size_t line_of_long_condition(const std::string& source) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.LineComment = language.RawStringLiterals = language.Digraphs =
      true;
  const char* begin = source.c_str();
  clang::Lexer lexer(clang::SourceLocation(), language, begin, begin, begin + source.size());
  clang::Token token;
  const char* condition = nullptr;  // that is being read
  std::size_t length = 0;
  bool behind_hash = false;
  for (bool at_end = false; !at_end;) {
    at_end = lexer.LexFromRawLexer(token);
    if (token.isAtStartOfLine()) condition = nullptr;
    if (behind_hash && token.is(clang::tok::raw_identifier) && token.getRawIdentifier().contains("if")) {
      condition = lexer.getBufferLocation();
      length = 0;
    }
    behind_hash = token.is(clang::tok::hash) && token.isAtStartOfLine();
    if (condition != nullptr && ++length > kMostConditionTokens) return 1 + std::count(begin, condition, '\n');
  }
  return 0;
}

}  // namespace

std::string refused_size(std::string_view source) {
  if (source.size() > kMostSourceBytes) {
    return ": error: the source has " + std::to_string(source.size()) + " bytes; the most is " +
           std::to_string(kMostSourceBytes);
  }
  if (source.size() <= kMostConditionTokens) return "";
  if (const std::size_t line = line_of_long_condition(std::string(source))) {
    return ":" + std::to_string(line) + ":1: error: the condition has more than " +
           std::to_string(kMostConditionTokens) + " parts";
  }
  return "";
}

}  // namespace anymps::metal::frontend
