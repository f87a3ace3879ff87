// JSON as text, on one line.
#pragma once

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace anymps::metal::support {

inline std::string json_text(const llvm::json::Value& value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

}  // namespace anymps::metal::support
