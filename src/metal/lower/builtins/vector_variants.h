// Calls of the C library that few threads make. A loop of threads with such a call has a form for many of them, which
// asks first whether anybody calls at all; LLVM alone would call for everybody, or give up the loop.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace anymps::metal::lower::builtins {

// Of a function "float name(float)" that LLVM does not know, from a block that is seldom run.
llvm::Value* call_seldom(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::Value* x);

struct VectorVariant {
  std::string scalar;  // by name: its declaration may be gone by then
  llvm::Function* form;
};
// Before loops are vectorised: declares the forms and tells of them at the calls.
std::vector<VectorVariant> declare_vector_variants(llvm::Module& module);
// After that: gives bodies, to be inlined, to those that are used. The others are gone.
void define_vector_variants(llvm::Module& module, const std::vector<VectorVariant>& forms);

}  // namespace anymps::metal::lower::builtins
