#include "metal/frontend/lex/source_text.h"

#include <clang/Basic/CharInfo.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <optional>
#include <string>

#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend::lex {
namespace {

struct Refused {
  std::size_t line = 0;
  std::string what;
};

// The directives that the preprocessor must not see.
std::optional<Refused> refused_directive(const std::string& source) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.LineComment = language.RawStringLiterals = language.Digraphs =
      true;
  const char* begin = source.c_str();
  clang::Lexer lexer(clang::SourceLocation(), language, begin, begin, begin + source.size());
  const auto refuse = [&](const char* at, std::string what) {
    return Refused{1 + static_cast<std::size_t>(std::count(begin, at, '\n')), std::move(what)};
  };
  clang::Token token;
  const char* condition = nullptr;  // that is being read
  std::size_t length = 0;
  bool behind_hash = false;
  for (bool at_end = false; !at_end;) {
    at_end = lexer.LexFromRawLexer(token);
    if (token.isAtStartOfLine()) condition = nullptr;
    if (behind_hash && token.is(clang::tok::raw_identifier)) {
      // Clang 19 crashes where a source in memory embeds a file.
      std::string directive = token.getRawIdentifier().str();
      if (token.needsCleaning()) std::erase_if(directive, [](char c) { return !clang::isLowercase(c); });
      if (directive.find("embed") != std::string::npos) {
        return refuse(lexer.getBufferLocation(), "'#embed' is not supported in Metal");
      }
      if (directive.find("if") != std::string::npos) {
        condition = lexer.getBufferLocation();
        length = 0;
      }
    }
    behind_hash = token.is(clang::tok::hash) && token.isAtStartOfLine();
    if (condition != nullptr && ++length > support::kMostConditionTokens) {
      return refuse(condition,
                    "the condition has more than " + std::to_string(support::kMostConditionTokens) + " parts");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string refused_text(std::string_view source) {
  if (source.size() > support::kMostSourceBytes) {
    return ": error: the source has " + std::to_string(source.size()) + " bytes; the most is " +
           std::to_string(support::kMostSourceBytes);
  }
  if (const std::size_t place = source.find('\0'); place != std::string_view::npos) {
    const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    return ":" + std::to_string(line) + ":1: error: the source has a NUL character";
  }
  if (const auto refused = refused_directive(std::string(source))) {
    return ":" + std::to_string(refused->line) + ":1: error: " + refused->what;
  }
  return "";
}

}  // namespace anymps::metal::frontend::lex
