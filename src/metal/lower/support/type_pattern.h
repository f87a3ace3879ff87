// The type of a function as a word: what it returns, then its parameters. A module may declare a function of AIR with
// any type.
#pragma once

#include <llvm/IR/DerivedTypes.h>

#include <string>

namespace anymps::metal::lower::support {

// v: void, o: i1, b: i8, s: i16, i: i32, l: i64, p: a pointer to anywhere; ? for what is none of these.
inline char type_letter(const llvm::Type& type) {
  if (type.isVoidTy()) return 'v';
  if (type.isPointerTy()) return 'p';
  if (type.isIntegerTy(1)) return 'o';
  if (type.isIntegerTy(8)) return 'b';
  if (type.isIntegerTy(16)) return 's';
  if (type.isIntegerTy(32)) return 'i';
  if (type.isIntegerTy(64)) return 'l';
  return '?';
}
inline std::string type_pattern(const llvm::FunctionType& type) {
  std::string pattern(1, type_letter(*type.getReturnType()));
  for (const llvm::Type* parameter : type.params()) pattern += type_letter(*parameter);
  return type.isVarArg() ? "?" : pattern;
}

}  // namespace anymps::metal::lower::support
