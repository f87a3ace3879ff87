// What Clang takes and Metal refuses, found in the tree of a program and in the code that is made of it.
#pragma once

#include <map>

namespace clang {
class ASTContext;
class CodeGenerator;
class FunctionDecl;
class SourceLocation;
}  // namespace clang

namespace llvm {
class Module;
}

namespace anymps::metal::frontend::sema {

// Where each function is called first.
using Calls = std::map<const clang::FunctionDecl*, clang::SourceLocation>;

// Variables that no address space of Metal's can hold, pointers and references that leave their address space,
// assembly. Reported to the context's diagnostics. Not looked at is what lies in our own headers.
Calls refuse_declarations(clang::ASTContext& context);

// Functions that are called, and variables that are used, without a definition.
void refuse_undefined(clang::CodeGenerator& generator, clang::ASTContext& context, llvm::Module& module,
                      const Calls& calls);

}  // namespace anymps::metal::frontend::sema
